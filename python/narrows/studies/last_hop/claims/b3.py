"""B3: CUBIC and BBR fill a link of turns, aggregates and gaps as they fill one with a rate."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.last_hop.claims.parts import by_condition, judged, met_ms, numbers, read_share
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "B3",
    "CUBIC and BBR fill a link of turns, aggregates and gaps as they fill one with a rate",
    "draft-ietf-ccwg-bbr, section 5.5.9 (acknowledgements that come in aggregates); RFC 9438",
    "b2_flows.py",
    decided_by="over what is carried",
)
PART = 0.9


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each flow's goodput, as a part of what is carried, against that of the same on a rate."""
    own = by_condition(runs, CLAIM.name)
    found = numbers(own, "goodput over what is carried", "1", lambda run, each: read_share(run, each[0]))
    met = numbers(own, "round trip that another meets, p95", "ms", lambda run, _: met_ms(run, "p95"))
    marks = {
        each: number.value >= PART * found[each[0], "rate", each[2]].value
        for each, number in found.items()
        if each[1] != "rate" and (each[0], "rate", each[2]) in found
    }
    return judged(CLAIM, own, found, marks, f"at least {PART:.0%} of what they use on a rate", met.values())
