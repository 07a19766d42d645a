"""N1: base RTT is the least RTT sample of a sender's log."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import base_rtt, base_rtt_p01
from narrows.studies.path_properties.seen import at_sender, but_for, errors, seen
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.02
"""An estimate is right within 2 % of the base RTT."""

CLAIM = Claim(
    "N1",
    "Base RTT is the minimum of per-ACK RTT samples, a cumulative ACK using the latest send time it covers",
    "section 5.4",
    "n1_conditions.py",
    "minimum .*sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median error of the minimum."""
    captures = seen(runs)
    found = errors(captures, "relative error of the minimum", "1", base_rtt)
    low = errors(captures, "relative error of the 1st percentile", "1", base_rtt_p01)
    marks = at_sender(found, NEAR)
    if not marks:
        return not_measured(CLAIM, "no captures at a sender")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender the minimum is within {NEAR:.0%} on {but_for(marks)}",
        (*found.values(), *low.values()),
        "CUBIC for 15 s, 20 Mbit/s",
        ids([one.run for one in captures]),
    )
