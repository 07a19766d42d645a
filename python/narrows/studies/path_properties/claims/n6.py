"""N6: throughput is bytes over active download time."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import throughput
from narrows.studies.path_properties.seen import but_for, errors, seen
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.05
"""An estimate is right within 5 % of what the receiver's program read."""

CLAIM = Claim(
    "N6",
    "Throughput is bytes over active download time, off periods excluded",
    "section 5.7",
    "n1_conditions.py",
    "sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at each place: the median error against what the receiving program read."""
    captures = seen(runs)
    found = errors(captures, "relative error", "1", throughput)
    marks = {f"{path} at the {place}": abs(n.value) <= NEAR for (path, place), n in found.items()}
    if not marks:
        return not_measured(CLAIM, "no captures")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"within {NEAR:.0%} on {but_for(marks)}",
        tuple(found.values()),
        "CUBIC for 15 s, 20 Mbit/s; a bulk flow is never off",
        ids([one.run for one in captures]),
    )
