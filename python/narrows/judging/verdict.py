"""What a judgement is made of: the claim, the numbers it rests on, and the verdict.

Verdicts that are kept are shown without judging, so what only judging needs is imported there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from narrows.judging import words

if TYPE_CHECKING:
    from narrows.metrics.statistics.arrays import Values

Word = Literal[
    "holds", "holds in part", "does not hold here", "not testable here", "not judged", "not measured"
]  # fmt: skip
Where = Mapping[str, str | tuple[str, ...]]
"""By axis the label, or one of several labels, that a condition must have."""
QUANTITY = "quantity"
"""In place of an axis: the name of a number."""


def fits(labels: Mapping[str, str], where: Where) -> bool:
    """Whether labels are among those that are asked for; of none any label is meant."""
    return all(
        axis in labels and (labels[axis] in (asked if isinstance(asked, tuple) else (asked,)) or not asked)
        for axis, asked in where.items()
    )


@dataclass(frozen=True)
class Claim:
    """What is claimed, where, and the experiment that decides it."""

    id: str
    text: str
    source: str
    experiment: str
    """The file's name."""
    decided_by: Where = field(default_factory=dict)
    """Those numbers that the ledger's row shows, by `quantity` and axis; empty: all may be."""

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
    conditions: Mapping[str, str] = field(default_factory=dict)
    """By axis its label."""
    low: float | None = None
    high: float | None = None
    percent: bool = False
    """Whether people read it in per cent, of a part of one."""

    def at(self, where: Where) -> bool:
        """Whether it is of these conditions, and of this name where `quantity` is asked for."""
        return fits({QUANTITY: self.name, **self.conditions}, where)

    @property
    def said(self) -> str:
        """`26 ms [25 to 27]`."""
        return words.value(self.value, self.unit, self.low, self.high, self.percent)

    def __str__(self) -> str:
        under = words.conditions(self.conditions)
        return f"{self.name} {self.said} (n = {self.n}{f'; {under}' if under else ''})"


@dataclass(frozen=True)
class Verdict:
    """A judgement. Without numbers it can only be "not measured" or "not testable here"."""

    claim: Claim
    verdict: Word
    reason: str
    numbers: tuple[Number, ...] = ()
    conditions: str = ""
    """What all conditions have in common, in words."""
    run_ids: tuple[str, ...] = ()
    cause: str = ""
    """What the runs' own numbers say of the why; what holds whatever they show is in the study's README."""

    def __post_init__(self) -> None:
        if self.verdict not in ("not measured", "not testable here") and not self.numbers:
            raise ValueError(f"{self.claim.id}: the verdict {self.verdict!r} rests on no number")


def not_measured(claim: Claim, what: str) -> Verdict:
    """No stored run decides the claim."""
    return Verdict(claim, "not measured", f"{what}: narrows run {claim.name}")


Statistic = Callable[[str, str, "Values", Mapping[str, str], bool], Number | None]


def median_of(
    name: str, unit: str, values: Values, conditions: Mapping[str, str], percent: bool = False
) -> Number | None:
    """Median with its order-statistics interval; None of nothing."""
    from narrows.metrics.statistics.interval import quantile_interval

    return plain_of("median", interval=quantile_interval)(name, unit, values, conditions, percent)


def std_of(
    name: str, unit: str, values: Values, conditions: Mapping[str, str], percent: bool = False
) -> Number | None:
    """Sample standard deviation with its bootstrap interval; None with fewer than two values."""
    from narrows.metrics.statistics.bootstrap import std_interval

    def std(x: Any) -> float:
        return float(x.std(ddof=1))

    return plain_of(std, 2, std_interval)(name, unit, values, conditions, percent)


def plain_of(
    of: str | Callable[..., Any], least: int = 1, interval: Callable[[Any], Any] | None = None
) -> Statistic:
    """Any other statistic, one of NumPy's by its name: `plain_of("max")`; None of fewer than `least`."""

    def made(
        name: str, unit: str, values: Values, conditions: Mapping[str, str], percent: bool = False
    ) -> Number | None:
        import numpy as np

        from narrows.metrics.statistics.arrays import clean

        x = clean(values)
        if x.size < least:
            return None
        value = (getattr(np, of) if isinstance(of, str) else of)(x)
        found = interval(x) if interval else None
        low, high = (found.low, found.high) if found else (None, None)
        return Number(name, unit, float(value), int(x.size), conditions, low, high, percent)

    return made


def graded(passed: Iterable[bool]) -> Word:
    """All, some or none of the parts."""
    parts = list(passed)
    if not parts:
        return "not measured"
    return "holds" if all(parts) else "holds in part" if any(parts) else "does not hold here"
