"""N10: random loss apart from what queues drop, from the RTT before losses."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import random_loss, true_random_loss
from narrows.studies.path_properties.seen import SENDER, at_sender, but_for, errors, seen, unknown
from narrows.studies.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.25
NEAR_SHARE = 0.0005
"""The share of segments is right within a quarter, or one in two thousand segments."""

CLAIM = Claim(
    "N10",
    "Random are lost segments of recoveries before which the RTT was below the middle between base RTT and "
    "its 99th percentile (our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    "sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median error of the share, against both ends' captures and the tap."""
    captures = seen(runs)
    found = errors(captures, "error of the share of segments", "1", random_loss)
    truth = errors(captures, "true share of segments", "1", true_random_loss)
    marks = at_sender(found, lambda path: max(NEAR_SHARE, NEAR * truth[path, SENDER].value))
    if not marks:
        return not_measured(CLAIM, "no captures at a sender and at a receiver")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender within {NEAR:.0%} or {NEAR_SHARE:g} on {but_for(marks)}; NULL at: "
        + unknown(captures, lambda one: one.value("lost_segments_low_rtt")),
        (*found.values(), *(n for (_, place), n in truth.items() if place == SENDER)),
        "CUBIC for 15 s, 20 Mbit/s; truth: segments lost between both ends less those that the queue dropped",
        ids([one.run for one in captures]),
        "An AQM drops at a low RTT, too; and reordering that TCP takes for loss is counted as loss.",
    )
