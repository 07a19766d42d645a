"""Quantities with units: Rate, Size, Duration, as integers of bit/s, bytes and nanoseconds.

A bare number is never a quantity; text without a unit is an error that says what to write. Decimal prefixes
are decimal (1 KB = 1000 bytes, 1 Mbit/s = 10⁶ bit/s), binary ones binary (1 KiB = 1024 bytes). Values that
are not whole base units are errors, not rounded: rounding must be asked for by name (`Rate.scaled`). No
percentages, no points in time, no dates.
"""

import re
from decimal import Decimal, InvalidOperation
from functools import total_ordering
from typing import ClassVar, Self

from narrows.errors import UnitError, nearest

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
NS_PER_MIN = 60 * NS_PER_S
NS_PER_H = 60 * NS_PER_MIN
US_PER_MS = 1_000
US_PER_S = 1_000_000
MS_PER_MINUTE = 60_000
BITS_PER_BYTE = 8

ENDINGS = {
    "_bps": "bit/s", "_bytes": "bytes", "_ms": "ms", "_us": "us", "_ns": "ns", "_s": "s", "_min": "1/min",
    "_per_minute": "1/min", "_ratio": "1", "_share": "1",
}  # fmt: skip
"""What the end of a figure's name says of its unit, in every column and file."""

_TEXT = re.compile(
    r"\s*(?P<number>[+-]?(?:\d[\d.,_]*(?:e[+-]?\d+)?|\.\d+|nan|inf(?:inity)?))\s*(?P<unit>\S.*?)?\s*",
    re.IGNORECASE,
)


@total_ordering
class Quantity:
    """Base of the three kinds. Immutable, hashable; only equal kinds compare, add and divide."""

    __slots__ = ("_base",)

    kind: ClassVar[str]
    example: ClassVar[str]
    base_unit: ClassVar[str]
    zero_unit: ClassVar[str]
    units: ClassVar[dict[str, Decimal]]
    human: ClassVar[tuple[tuple[int, str], ...]]
    label_units: ClassVar[tuple[tuple[int, str], ...]]

    def __init__(self, base: int) -> None:
        if isinstance(base, bool) or not isinstance(base, int):
            raise UnitError(
                f"{self.kind} of {base!r}: not a whole number of {self.base_unit}",
                remedy=f'write it with its unit, such as "{self.example}"',
            )
        if base < 0:
            raise UnitError(f"{self.kind} of {base} {self.base_unit}: must not be negative")
        object.__setattr__(self, "_base", base)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change")

    def __reduce__(self) -> tuple[type[Self], tuple[int]]:
        return type(self), (self._base,)

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read `"100 Mbit/s"`, or pass a quantity of this kind through."""
        if isinstance(value, cls):
            return value
        if isinstance(value, Quantity):
            raise UnitError(
                f"{value} is a {value.kind}, a {cls.kind} is needed", remedy=f'such as "{cls.example}"'
            )
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise UnitError(
                f"{value!r} is not a {cls.kind}", remedy=f'write text with a unit, such as "{cls.example}"'
            )
        if not isinstance(value, str):
            raise UnitError(f"{value!r} has no unit, a {cls.kind} is needed", remedy=cls._advice(value))
        return cls._parse_text(value)

    @classmethod
    def _parse_text(cls, text: str) -> Self:
        match = _TEXT.fullmatch(text)
        number = cls._number(match["number"]) if match else None
        if match is None or number is None:
            raise UnitError(
                f"{text!r} is not a {cls.kind}", remedy=f'write a number and a unit, such as "{cls.example}"'
            )
        unit = match["unit"]
        if unit is None:
            raise UnitError(f"{text!r} has no unit, a {cls.kind} is needed", remedy=cls._advice(text.strip()))
        scale = cls.units.get(unit)
        if scale is None:
            raise cls._unknown_unit(text, unit)
        base = number * scale
        if base != base.to_integral_value():
            raise UnitError(
                f"{text!r} is not a whole number of {cls.base_unit}",
                remedy=f"the finest {cls.kind} is 1 {cls.base_unit}",
            )
        if base < 0:
            raise UnitError(f"{text!r}: a {cls.kind} must not be negative")
        return cls(int(base))

    @staticmethod
    def _number(text: str) -> Decimal | None:
        try:
            number = Decimal(text)
        except InvalidOperation:
            return None
        return number if number.is_finite() else None

    @classmethod
    def _advice(cls, number: object) -> str:
        unit = cls.example.split()[1]
        return f'write the unit: "{number} {unit}"' + (f' or "{number} s"' if unit == "ms" else "")

    @classmethod
    def _unknown_unit(cls, text: str, unit: str) -> UnitError:
        for other in (Rate, Size, Duration):
            if other is not cls and unit in other.units:
                return UnitError(
                    f"{text!r} is a {other.kind}, a {cls.kind} is needed", remedy=f'such as "{cls.example}"'
                )
        close = nearest(unit, cls.units)
        known = ", ".join(cls.shown_units())
        return UnitError(
            f"{text!r}: unknown unit {unit!r} of a {cls.kind}",
            remedy=(f"did you mean {close}? " if close else "") + f"Units: {known}",
        )

    @classmethod
    def shown_units(cls) -> tuple[str, ...]:
        """The units worth naming to a person."""
        return tuple(unit for _, unit in reversed(cls.human))

    # ---- text

    def __str__(self) -> str:
        """For people: `100 Mbit/s`, `1.5 s`, `15 KB`."""
        return self._scaled_text(self.human, " ")

    def label(self) -> str:
        """For keys, files and the command line's filters: `100Mbit`, `1.5s`, `15KB`."""
        return self._scaled_text(self.label_units, "")

    def _scaled_text(self, scales: tuple[tuple[int, str], ...], space: str) -> str:
        for scale, unit in scales:
            if self._base >= scale:
                number = f"{(Decimal(self._base) / scale).normalize():f}"
                return f"{number}{space}{unit}"
        return f"0{space}{self.zero_unit}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    # ---- arithmetic

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._base))

    def __eq__(self, other: object) -> bool:
        return self._base == other._base if isinstance(other, type(self)) else NotImplemented

    def __lt__(self, other: Self) -> bool:
        return self._base < other._base if isinstance(other, type(self)) else NotImplemented

    def __bool__(self) -> bool:
        return self._base != 0

    def __add__(self, other: Self) -> Self:
        return type(self)(self._base + other._base) if isinstance(other, type(self)) else NotImplemented

    def __sub__(self, other: Self) -> Self:
        return type(self)(self._base - other._base) if isinstance(other, type(self)) else NotImplemented

    def scaled(self, factor: int | float | Decimal) -> Self:
        """This quantity times a number, rounded to the nearest base unit (`rate.scaled(0.95)`)."""
        exact = Decimal(self._base) * Decimal(str(factor))
        if not exact.is_finite():
            raise UnitError(f"{self} × {factor}: not a finite number")
        return type(self)(int(exact.to_integral_value()))

    def ratio(self, other: Self) -> float:
        """How many times `other` this is."""
        if not isinstance(other, type(self)) or not other._base:
            raise UnitError(f"cannot divide {self} by {other}")
        return self._base / other._base

    _base: int


def _scales(**units: str | int) -> dict[str, Decimal]:
    return {name: Decimal(scale) for name, scale in units.items()}


class Rate(Quantity):
    """Bits per second. Which layer's bits is the user's to say."""

    __slots__ = ()
    kind = "rate"
    example = "100 Mbit/s"
    base_unit = "bit/s"
    zero_unit = "bit"
    units: ClassVar[dict[str, Decimal]] = {
        f"{prefix}{suffix}": Decimal(scale)
        for prefix, scale in (("", 1), ("k", 10**3), ("K", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12))
        for suffix in ("bit/s", "bit", "bps", "b/s")
    }
    human = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))
    label_units = ((10**9, "Gbit"), (10**6, "Mbit"), (10**3, "kbit"), (1, "bit"))

    @property
    def bps(self) -> int:
        return self._base

    def tc(self) -> str:
        """The text that `tc` reads: always exact, always in bit."""
        for scale, unit in self.label_units:
            if self._base and self._base % scale == 0:
                return f"{self._base // scale}{unit}"
        return f"{self._base}bit"

    def __mul__(self, time: "Duration") -> "Size":
        """Bytes sent at this rate in this time, rounded down: `bdp = rate * base_rtt`."""
        if not isinstance(time, Duration):
            return NotImplemented
        return Size(self._base * time.ns // (BITS_PER_BYTE * NS_PER_S))

    __rmul__ = __mul__


class Size(Quantity):
    """Bytes."""

    __slots__ = ()
    kind = "size"
    example = "15 KB"
    base_unit = "bytes"
    zero_unit = "B"
    units: ClassVar[dict[str, Decimal]] = _scales(
        B=1, byte=1, bytes=1,
        KB=10**3, kB=10**3, MB=10**6, GB=10**9,
        KiB=2**10, MiB=2**20, GiB=2**30,
    )  # fmt: skip
    human = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))
    label_units = human
    binary: ClassVar[tuple[tuple[int, str], ...]] = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))

    def _scaled_text(self, scales: tuple[tuple[int, str], ...], space: str) -> str:
        """Decimal where that is short (15 KB, 1.5 MB), else binary (15 KiB), else plain bytes (1514 B)."""
        for scale, unit in scales[:-1]:
            if self._base % scale == 0 or (self._base >= 10 * scale and self._base % (scale // 10) == 0):
                return super()._scaled_text(((scale, unit),), space)
        for scale, unit in self.binary:
            if self._base and self._base % scale == 0:
                return f"{self._base // scale}{space}{unit}"
        return f"{self._base}{space}B"

    @classmethod
    def shown_units(cls) -> tuple[str, ...]:
        return ("B", "KB", "MB", "GB", "KiB", "MiB", "GiB")

    @property
    def bytes(self) -> int:
        return self._base

    def tc(self) -> str:
        """The text that `tc` reads. tc's "k" and "kb" are 1024 bytes, so only plain bytes are written."""
        return str(self._base)

    def time_at(self, rate: Rate) -> "Duration":
        """How long these bytes take at a rate, rounded up."""
        if not rate:
            raise UnitError(f"{self} at {rate} takes for ever")
        return Duration(-(-self._base * BITS_PER_BYTE * NS_PER_S // rate.bps))


class Duration(Quantity):
    """A span of time, in nanoseconds."""

    __slots__ = ()
    kind = "duration"
    example = "20 ms"
    base_unit = "ns"
    zero_unit = "s"
    units: ClassVar[dict[str, Decimal]] = {
        "ns": Decimal(1),
        "us": Decimal(10**3),
        "µs": Decimal(10**3),  # micro sign
        "μs": Decimal(10**3),  # Greek mu
        "ms": Decimal(10**6),
        "s": Decimal(NS_PER_S),
        "min": Decimal(60 * NS_PER_S),
        "h": Decimal(3600 * NS_PER_S),
    }
    human = ((NS_PER_S, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
    label_units = ((NS_PER_S, "s"), (10**6, "ms"), (10**3, "us"), (1, "ns"))

    @classmethod
    def shown_units(cls) -> tuple[str, ...]:
        return ("ns", "us", "ms", "s", "min", "h")

    @property
    def ns(self) -> int:
        return self._base

    @property
    def seconds(self) -> float:
        """Seconds, for people and plots."""
        return self._base / NS_PER_S

    def tc(self) -> str:
        """The text that `tc` reads: ns and us exactly (tc's own time unit is 1 ns or coarser per option)."""
        for scale, unit in ((NS_PER_S, "s"), (10**6, "ms"), (10**3, "us")):
            if self._base and self._base % scale == 0:
                return f"{self._base // scale}{unit}"
        return f"{self._base}ns" if self._base else "0us"

    def __mul__(self, rate: Rate) -> Size:
        return rate * self if isinstance(rate, Rate) else NotImplemented


def bdp(rate: object, base_rtt: object) -> Size:
    """Bandwidth-delay product: rate × base RTT, in bytes."""
    return Rate.parse(rate) * Duration.parse(base_rtt)


def unit_of_name(name: str) -> str:
    """The unit of a figure by the end of its name (`ENDINGS`); empty: a count of something."""
    return next((unit for end, unit in ENDINGS.items() if name.endswith(end)), "")
