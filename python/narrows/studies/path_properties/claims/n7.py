"""N7: capacity, and how it varies, from the rate of acknowledged payload while a queue stood."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import capacity, variation
from narrows.studies.path_properties.seen import at_sender, but_for, errors, seen, unknown
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.05
NEAR_VARIATION = 0.1
"""Capacity is right within 5 % of the mean rate, its variation within 0.1 of the true one."""

CLAIM = Claim(
    "N7",
    "Capacity is the median rate of acknowledged payload in windows in which a queue stood, its variation "
    "the difference of their 90th and 10th percentiles over it (our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    "sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median errors against the plan's rate over time."""
    captures = seen(runs)
    found = errors(captures, "relative error of capacity", "1", capacity)
    varied = errors(captures, "error of its variation", "1", variation)
    marks = {f"{path}: capacity": right for path, right in at_sender(found, NEAR).items()}
    marks |= {f"{path}: variation": right for path, right in at_sender(varied, NEAR_VARIATION).items()}
    if not marks:
        return not_measured(CLAIM, "no captures at a sender")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender within {NEAR:.0%} and {NEAR_VARIATION:g} on {but_for(marks)}; NULL at: "
        + unknown(captures, lambda one: one.value("capacity_bps")),
        (*found.values(), *varied.values()),
        "CUBIC for 15 s, 20 Mbit/s; truth: the plan's rate, as payload of full packets",
        ids([one.run for one in captures]),
    )
