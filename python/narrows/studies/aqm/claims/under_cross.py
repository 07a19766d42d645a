"""What R5 and R6 share: runs at 900 Mbit/s with burst shaping and cross traffic, and the same without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import usable, where
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids

RATE_MBPS = 900
Runs = list[Observed]


def loaded_and_calm(runs: Iterable[Observed], *calm_bursts: str) -> tuple[Runs, Runs]:
    """The runs with both, and those without cross traffic."""
    good = where(usable(runs), rate_mbps=RATE_MBPS)
    return (
        where(good, burst=("text", "listing"), cross=("up", "down")),
        where(good, burst=calm_bursts, cross=("no",)),
    )


def verdict(
    claim: Claim,
    parts: Sequence[Mapping[str, bool]],
    reason: str,
    numbers: Sequence[Number],
    runs: Sequence[Observed],
    cause: str,
) -> Verdict:
    """All marks of all parts together."""
    marks = [mark for part in parts for mark in part.values()]
    words = f"{RATE_MBPS} Mbit/s, the direction of the cross flow"
    return Verdict(claim, graded(marks), reason, tuple(numbers), words, ids(runs), cause)
