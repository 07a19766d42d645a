"""Numbers and conditions as a person reads them. Words are made here at the end; nothing reads them again.

It stands on nothing: verdicts that are kept are shown without what judges them.
"""

import re
from collections.abc import Mapping, Sequence

ROUNDING = 1e-9
"""Below this a figure is what double precision leaves of equal values, and is written as 0."""
_SCALES = {"bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")), "ms": ((1e3, "s"),)}
_SAID = {"1": "", "1/min": "a minute", "1/s": "a second"}
_UNIT = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(us|ms|s|[kMG]?bit|[kMG]?B|%)(?!\w)")
_SPELT = {"us": "µs", "bit": "bit/s", "kbit": "kbit/s", "Mbit": "Mbit/s", "Gbit": "Gbit/s"}
NAMED = frozenset(
    {
        "RPM", "bandwidth", "buffer", "burst", "no longer good",
        "connections", "cross", "duration", "flows", "kernel", "loss", "omit",
        "phase", "seed", "share", "timers", "runs of", "still moved by",
        "over the last", "below 1 %", "most", "least", "between", "queue size",
    }
)  # fmt: skip
"""Axes whose labels say too little without the axis' name before them."""
JOINED = frozenset({"beside", "against", "without"})
MOST = 8
"""Conditions that a sentence names."""


def number(value: float) -> str:
    """Three significant digits, whole from 100 on."""
    if abs(value) < ROUNDING:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def scaled(value: float, unit: str, percent: bool = False) -> tuple[float, str]:
    """The factor and the unit in which a person reads a value: `1.34e6 bit/s` is of 1e-6 and `Mbit/s`."""
    if percent:
        return 100.0, "%"
    for least, better in _SCALES.get(unit, ()):
        if abs(value) >= least:
            return 1 / least, better
    return 1.0, _SAID.get(unit, unit)


def value(
    of: float, unit: str, low: float | None = None, high: float | None = None, percent: bool = False
) -> str:
    """`1.34 Mbit/s`, `78 %`, `26 ms [25 to 27]`: a value, its unit and its interval, in one scale."""
    factor, spelt = scaled(of, unit, percent)
    text = f"{number(factor * of)} {spelt}".strip()
    if low is None or high is None or number(factor * low) == number(factor * high):
        return text
    return f"{text} [{number(factor * low)} to {number(factor * high)}]"


def spelt(label: str) -> str:
    """A label with its unit as it is written: `25Mbit` is 25 Mbit/s."""
    return _UNIT.sub(lambda m: f"{m[1]} {_SPELT.get(m[2], m[2])}", label)


def conditions(of: Mapping[str, str]) -> str:
    """`ndt7, wifi, device`; the axis stands before a label that says too little alone."""
    return ", ".join(
        f"{axis} {spelt(label)}" if axis in NAMED or axis in JOINED else spelt(label)
        for axis, label in of.items()
    )


def some(names: Sequence[str]) -> str:
    """`a; b; c and 4 more`."""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return "; ".join(names[:MOST]) + more


def counted(marks: Mapping[str, bool]) -> str:
    """`3 of 4 (not: sfq)`: how many pass, and by name the fewer of those that do and those that do not."""
    yes, no = ([name for name, mark in marks.items() if mark is one] for one in (True, False))
    text = f"{len(yes)} of {len(marks)}"
    if not no or not yes:
        return text
    return f"{text} (only: {some(yes)})" if len(yes) < len(no) else f"{text} (not: {some(no)})"


def percent(part: float) -> str:
    """`78 %`, of a part of one."""
    return f"{number(100 * part)} %"
