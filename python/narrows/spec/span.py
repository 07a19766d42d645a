"""A span of values of an axis: two ends, and everything between. `axis("rtt", between("2 ms", "200 ms"))`.

`narrows run` makes the ends and the middle, a first look; `narrows search --over rtt` chooses what lies in
between.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from narrows.errors import SpecError, UnitError
from narrows.spec.parsers import Bdp, Wrong, bdp_factor, percent
from narrows.spec.where import caller
from narrows.units import Duration, Rate, Size

LOGARITHMIC_FROM = 10
"""A span whose ends are so many times apart is walked in equal ratios, not in equal steps."""
DIGITS = 3
"""Values between the ends are rounded to so many digits."""


@dataclass(frozen=True)
class Span:
    """From `low` to `high`, as plain numbers in the kind's own unit; `make` gives the value of a number."""

    low: float
    high: float
    whole: bool
    make: Callable[[float], Any]

    @property
    def logarithmic(self) -> bool:
        return self.low > 0 and self.high / self.low >= LOGARITHMIC_FROM

    def at(self, part: float) -> float:
        """The number at a part of the way, 0 to 1, rounded; the ends are exact."""
        if part <= 0:
            return self.low
        if part >= 1:
            return self.high
        exact = (
            math.exp(math.log(self.low) + part * math.log(self.high / self.low))
            if self.logarithmic
            else self.low + part * (self.high - self.low)
        )
        rounded = float(f"{exact:.{DIGITS}g}")
        return float(round(rounded)) if self.whole else rounded

    def part(self, number: float) -> float:
        """What part of the way a number is at."""
        if self.logarithmic:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def values(self) -> list[Any]:
        """The first look: both ends and the middle."""
        return [self.make(self.at(part)) for part in (0.0, 0.5, 1.0)]


def _kinds(value: Any) -> list[tuple[str, float, bool, Callable[[float], Any]]]:
    """What a value may be: the kind's name, its number, whether numbers are whole, and how to make one."""
    if isinstance(value, bool):
        return []
    if isinstance(value, (int, float)):
        whole = isinstance(value, int)
        return [("number", float(value), whole, lambda n: round(n) if whole else n)]
    try:
        factor = bdp_factor(value)
    except Wrong:
        factor = None
    if factor is not None:
        return [("BDP", factor.factor, False, Bdp)]
    kinds: list[tuple[str, float, bool, Callable[[float], Any]]] = []
    readers: list[tuple[str, Callable[[Any], float], Callable[[float], Any]]] = [
        ("rate", lambda v: Rate.parse(v).bps, lambda n: Rate(round(n))),
        ("duration", lambda v: Duration.parse(v).ns, lambda n: Duration(round(n))),
        ("size", lambda v: Size.parse(v).bytes, lambda n: Size(round(n))),
        ("percentage", percent, lambda n: f"{n:g} %"),
    ]
    for name, read, make in readers:
        try:
            kinds.append((name, float(read(value)), name != "percentage", make))
        except (UnitError, Wrong):
            continue
    return kinds


def between(low: Any, high: Any) -> Span:
    """The values from `low` to `high`, both rates, durations, sizes, BDPs, percentages or numbers."""
    ends = {name: (number, whole, make) for name, number, whole, make in _kinds(low)}
    for name, top, whole, _ in _kinds(high):
        if name not in ends:
            continue
        number, low_whole, make = ends[name]
        if not number < top:
            raise SpecError(
                f"between({low!r}, {high!r}): the second is not above the first",
                where=caller(),
                remedy="the lower end first",
            )
        return Span(number, top, whole and low_whole, make)
    raise SpecError(
        f"between({low!r}, {high!r}): not two values of one kind",
        where=caller(),
        remedy='such as between("2 ms", "200 ms"), between(bdp(0.25), bdp(16)), between(1, 64)',
    )
