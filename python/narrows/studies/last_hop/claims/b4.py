"""B4: a shaper at 90 % of what the last hop carries takes the queue out of it."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.last_hop.claims.parts import by_condition, judged, met_ms, numbers
from narrows.studies.last_hop.testbed import CAKE
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "B4",
    "CAKE at home, at 90 % of what the last hop carries, takes the queue out of it",
    "The usual advice for SQM (sch_cake's manual page, bandwidth)",
    "b2_flows.py",
)
TIMES = 1.25


def judge(runs: Iterable[Observed]) -> Verdict:
    """The p95 of a third party's round trip, against that with FQ-CoDel right above the medium, which is
    the least that a queue there can do."""
    own = by_condition(runs, CLAIM.name)
    found = numbers(own, "round trip that another meets, p95", "ms", lambda run, _: met_ms(run, "p95"))
    marks = {
        each: number.value <= TIMES * found[each[0], each[1], "router"].value
        for each, number in found.items()
        if each[2] == CAKE and (each[0], each[1], "router") in found
    }
    rule = f"at most {TIMES:g} times the round trip with FQ-CoDel right above the medium"
    return judged(CLAIM, own, found, marks, rule)
