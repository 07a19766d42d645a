"""N3: the median of newly acknowledged bytes over the MSS is the path's ACK aggregation."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import aggregation, true_aggregation
from narrows.studies.path_properties.seen import at_sender, but_for, errors, seen
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.25
"""The median is right within a quarter of the segments for each packet that came back."""

CLAIM = Claim(
    "N3",
    "ACK aggregation is the median of newly acknowledged bytes over the MSS, without ACKs that carry SACK "
    "and the one right after",
    "section 5.6",
    "n1_conditions.py",
    "sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median against the plain count."""
    captures = seen(runs)
    found = errors(captures, "relative error", "1", aggregation)
    value = errors(captures, "segments an ACK", "1", lambda one: one.value("ack_aggregation"))
    truth = errors(captures, "segments a packet back", "1", true_aggregation)
    marks = at_sender(found, NEAR)
    if not marks:
        return not_measured(CLAIM, "no captures at a sender")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender within {NEAR:.0%} of the count on {but_for(marks)}",
        (*found.values(), *value.values(), *truth.values()),
        "CUBIC for 15 s, 20 Mbit/s; a receiver that acknowledges every second segment",
        ids([one.run for one in captures]),
    )
