"""N9: reordering, from what overtakes in the log and from what SACKs say."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import reordered, true_reordered
from narrows.studies.path_properties.seen import SENDER, at_sender, but_for, errors, seen
from narrows.studies.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.25
NEAR_SHARE = 0.0005
"""The share of reordered segments is right within a quarter, or one in two thousand segments."""

CLAIM = Claim(
    "N9",
    "Reordered are segments that fill a hole sooner than a retransmission can, and those that are "
    "acknowledged after later data was SACKed without being sent again (our definition of what section 6.2 "
    "asks for)",
    "section 6.2",
    "n1_conditions.py",
    "sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at each place: the median error of the share, against both ends' captures."""
    captures = seen(runs)
    found = errors(captures, "error of the share of segments", "1", reordered)
    truth = errors(captures, "true share of segments", "1", true_reordered)
    marks = at_sender(found, lambda path: max(NEAR_SHARE, NEAR * truth[path, SENDER].value))
    if not marks:
        return not_measured(CLAIM, "no captures at a sender and at a receiver")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender within {NEAR:.0%} or {NEAR_SHARE:g} on {but_for(marks)}",
        (*found.values(), *(n for (_, place), n in truth.items() if place == SENDER)),
        "CUBIC for 15 s, 20 Mbit/s; truth: RFC 4737 (Type-P-Reordered) between both ends",
        ids([one.run for one in captures]),
        "At the sender an ACK must tell: what is overtaken by less than the receiver takes to acknowledge, "
        "or is sent again in vain, does not show as reordering.",
    )
