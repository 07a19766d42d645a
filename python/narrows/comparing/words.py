"""Numbers and conditions in the words of pages, pictures and terminals."""

from collections.abc import Mapping, Sequence

from narrows.comparing.conditions import facet_title
from narrows.metrics.statistics.distribution import Distribution
from narrows.runs.observed import EXPERIMENT, NO_LABEL

_SPELT_OUT = ("queue", "tool", EXPERIMENT)
"""Axes whose labels need no name before them."""


def condition_name(axes: Sequence[str], key: Sequence[str]) -> str:
    """A condition as its person labelled it: `docsis_pie, rate 25Mbit`."""
    parts = [each for each in zip(axes, key, strict=True) if each[1] != NO_LABEL]
    return ", ".join(text if axis in _SPELT_OUT else facet_title([axis], [text]) for axis, text in parts)


def number(value: float) -> str:
    """Three significant digits, whole from 100 on."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_interval(values: Distribution, unit: str = "") -> str:
    """`431 ms [420–440]`: the median and its 95 % interval, where there are values enough for one."""
    if values.median is None:
        return "–"
    text = f"{number(values.median)} {unit}".rstrip()
    interval = values.median_interval
    return f"{text} [{number(interval.low)}–{number(interval.high)}]" if interval else text


def of_older(pairs: Mapping[str, str]) -> str:
    """What is said of older runs (keys) that lie beside the newest of their labels."""
    old, new = next(iter(sorted(pairs.items())))
    count = "1 older run" if len(pairs) == 1 else f"{len(pairs)} older runs"
    return (
        f"{count} of the same labels (another version, kernel or agent) not counted: "
        f"`narrows diff {old} {new}` says what differs"
    )


def percent(value: float) -> str:
    """Whole percent, of less than ten three digits."""
    return f"{value:.0f} %" if value >= 10 else f"{number(value)} %"


def join(parts: Sequence[str]) -> str:
    """`a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
