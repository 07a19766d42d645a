"""What a judgement is made of: the claim, the numbers it rests on, and the verdict.

Verdicts that are kept are shown without judging (`judged.py`), so what only judging needs is imported there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from narrows.metrics.statistics.arrays import Values
    from narrows.runs.observed import Observed

Word = Literal[
    "holds", "holds in part", "does not hold here", "not testable here", "not judged", "not measured"
]  # fmt: skip

MOVED = "metric still moved at the end, worst run"
"""The quantity that says how far from rest runs ended: it decides nothing by itself."""

ROUNDING = 1e-9
"""Below this a figure is what double precision leaves of equal values, and is written as 0."""


def written(value: float) -> str:
    """A figure with four significant digits."""
    return "0" if abs(value) < ROUNDING else f"{value:.4g}"


@dataclass(frozen=True)
class Claim:
    """What is claimed, where, and the experiment that decides it."""

    id: str
    text: str
    source: str
    experiment: str
    """The file's name."""
    decided_by: str = ""
    """A pattern of those numbers that the ledger's row shows; empty: all may be."""

    @property
    def name(self) -> str:
        """The experiment as commands take it."""
        return self.experiment.removesuffix(".py")


@dataclass(frozen=True)
class Number:
    """One measured number with its unit, n, interval (None: too few values for one) and conditions."""

    name: str
    unit: str
    value: float
    n: int
    conditions: str
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        interval = (
            "" if self.low is None or self.high is None else f" [{written(self.low)} … {written(self.high)}]"
        )
        unit = "" if self.unit == "1" else f" {self.unit}"
        return f"{self.name} {written(self.value)}{interval}{unit} (n = {self.n}; {self.conditions})"


@dataclass(frozen=True)
class Verdict:
    """A judgement. Without numbers it can only be "not measured" or "not testable here"."""

    claim: Claim
    verdict: Word
    reason: str
    numbers: tuple[Number, ...] = ()
    conditions: str = ""
    run_ids: tuple[str, ...] = ()
    cause: str = ""
    """What the runs' own numbers say of the why; what holds whatever they show is in the study's README."""

    def __post_init__(self) -> None:
        if self.verdict not in ("not measured", "not testable here") and not self.numbers:
            raise ValueError(f"{self.claim.id}: the verdict {self.verdict!r} rests on no number")


def not_measured(claim: Claim, what: str) -> Verdict:
    """No stored run decides the claim."""
    return Verdict(claim, "not measured", f"{what}: narrows run {claim.name}")


def median_of(name: str, unit: str, values: Values, conditions: str) -> Number | None:
    """Median with its order-statistics interval; None of nothing."""
    import numpy as np

    from narrows.metrics.statistics.arrays import clean
    from narrows.metrics.statistics.interval import quantile_interval

    x = clean(values)
    if x.size == 0:
        return None
    interval = quantile_interval(x)
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Number(name, unit, float(np.median(x)), int(x.size), conditions, low, high)


def std_of(name: str, unit: str, values: Values, conditions: str) -> Number | None:
    """Sample standard deviation with its bootstrap interval; None with fewer than two values."""
    import numpy as np

    from narrows.metrics.statistics.arrays import clean
    from narrows.metrics.statistics.bootstrap import std_interval

    x = clean(values)
    if x.size < 2:
        return None
    interval = std_interval(x)
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Number(name, unit, float(np.std(x, ddof=1)), int(x.size), conditions, low, high)


def worst_of(name: str, unit: str, values: Values, conditions: str) -> Number | None:
    """The largest value; None of nothing."""
    import numpy as np

    from narrows.metrics.statistics.arrays import clean

    x = clean(values)
    return Number(name, unit, float(np.max(x)), int(x.size), conditions) if x.size else None


def ids(runs: Sequence[Observed]) -> tuple[str, ...]:
    """The runs a verdict rests on."""
    return tuple(sorted({run.run_id for run in runs}))


def graded(passed: Sequence[bool]) -> Word:
    """All, some or none of the parts."""
    if not passed:
        return "not measured"
    return "holds" if all(passed) else "holds in part" if any(passed) else "does not hold here"


def yes_of(marks: Mapping[str, bool]) -> str:
    """`2 of 3 (codel, sfq)`: those that are marked, by name."""
    yes = [name for name, mark in marks.items() if mark]
    return f"{len(yes)} of {len(marks)} ({', '.join(yes) or 'none'})"


def comparisons(marks: Mapping[str, bool]) -> str:
    """`2 of 3 comparisons`."""
    return f"{sum(marks.values())} of {len(marks)} comparisons"
