"""The answer of an experiment in a few sentences: its conditions side by side, in plain words.

A sentence each for throughput, latency under load and RPM, and of many flows for the use of the link and
fairness, if they were measured. It names all conditions
where there are few, else the best, the worst and the axis that separates them most. It only words what
`figures.side_by_side` gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from narrows.comparing.headline import FAIRNESS, RATE, SHARE, UTILISATION, WHOLE, Quantity
from narrows.figures.side_by_side import (
    Column,
    Key,
    SideBySide,
    condition_name,
    number,
    separating,
    side_by_side,
    with_interval,
)
from narrows.report import pairs
from narrows.runs.observed import Observed, label
from narrows.spec.pairs import PAIR

MOST_NAMED = 3
"""Conditions that a sentence can name one by one."""
ALIKE = 0.02
"""Medians that lie no further apart than this share of the largest are told as one."""
SEPARATES = 0.33
"""An axis whose labels' medians lie less far apart, as a share of what lies between the best and the worst
condition, is not said to separate them."""
FOR_AN_INTERVAL = 6
_DURING = {"down": "during the download", "up": "during the upload", WHOLE: "under load"}
_WAY = {"down": "download ", "up": "upload ", WHOLE: ""}
_BEST = {True: "was highest", False: "was shortest"}
_WORST = {True: "lowest", False: "longest"}
"""By whether more of it is better."""


@dataclass(frozen=True)
class Answer:
    """The sentences, and what one must know to read their numbers."""

    sentences: tuple[str, ...]
    note: str


def answer(runs: Sequence[Observed]) -> Answer | None:
    """What came out, in words; None where no run has a speed test or a load whose rate is known."""
    if any(PAIR in run.key for run in runs) and (said := pairs.sentences(runs)):
        return Answer(tuple(said), pairs.note(runs))
    every = side_by_side(runs)
    if every is None:
        return None
    by_quantity: dict[str, list[Column]] = {}
    for column in every.columns:
        by_quantity.setdefault(column.quantity.name, []).append(column)
    few = len(every.keys) <= MOST_NAMED
    said = [
        (_all if few else _ends)(every, columns)
        for columns in by_quantity.values()
        if not _is_share(columns[0])
    ]
    return Answer(tuple(said), _note(every))


def _all(every: SideBySide, columns: Sequence[Column]) -> str:
    """Every condition with its number."""
    parts = []
    for column in columns:
        share = _share_of(every, column)
        told = [_of(every, column, key, share) for key in every.keys if key in column.values]
        parts.append(f"{_subject(column)} {_verb(column)} {_join(told)}")
    return _sentence(parts, columns[0].quantity.item is not None)


def _is_share(column: Column) -> bool:
    return column.quantity.words == SHARE


def _share_of(every: SideBySide, rate: Column) -> Column | None:
    """The share that goes with an item's rate, which is said in brackets."""
    if rate.quantity.words != RATE:
        return None
    shares = (column for column in every.columns if _is_share(column))
    whose = rate.quantity.item, rate.direction
    return next((column for column in shares if (column.quantity.item, column.direction) == whose), None)


def _of(every: SideBySide, column: Column, key: Key, share: Column | None = None) -> str:
    text = with_interval(column.of(key), _unit(column.quantity))
    if share is not None and key in share.values:
        text += f" ({number(share.median(key))} % of its fair rate)"
    return f"{text} with {condition_name(every.axes, key)}" if every.axes else text


def _ends(every: SideBySide, columns: Sequence[Column]) -> str:
    """The best and the worst condition, and what separates them."""
    parts, widest, separator = [], 0.0, ""
    for raw in columns:
        column, unit = _comparable(every, raw)
        ordered = sorted(column.values, key=column.median)
        low, high = column.median(ordered[0]), column.median(ordered[-1])
        if high - low <= ALIKE * abs(high):
            span = " to ".join(dict.fromkeys((number(low), number(high))))
            same = f"much the same under all {len(ordered)} conditions ({span} {unit})"
            parts.append(f"{_subject(raw)} {_verb(raw)} {same}")
            continue
        more = column.quantity.more_is_better
        best, worst = (ordered[-1], ordered[0]) if more else (ordered[0], ordered[-1])
        parts.append(
            f"{_subject(raw)} {_BEST[more]} with {condition_name(every.axes, best)} "
            f"({_bracket(every, column, best, unit)}) and {_WORST[more]} with "
            f"{condition_name(every.axes, worst)} ({_bracket(every, column, worst, unit)})"
        )
        axis, medians = separating(column, every.axes)[0]
        (least, lowest), (most, highest) = medians[0], medians[-1]
        share = (most - least) / (high - low)
        if share > max(widest, SEPARATES):
            widest = share
            short = (unit.split() or [""])[0]
            way = f", {_DURING[raw.direction]}" if len(columns) > 1 else ""
            separator = (
                f"what separates the conditions most is {axis} (median {number(least)} {short} with "
                f"{lowest}, {number(most)} {short} with {highest}{way})"
            )
    return _sentence([*parts, separator] if separator else parts, columns[0].quantity.item is not None)


def _bracket(every: SideBySide, column: Column, key: Key, unit: str) -> str:
    share = _share_of(every, column)
    of_fair = "" if share is None or key not in share.values else f", {number(share.median(key))} % of fair"
    return f"{with_interval(column.of(key), unit)}{of_fair}"


def _comparable(every: SideBySide, column: Column) -> tuple[Column, str]:
    """The same column without what the conditions set themselves: a share of the rate where rates differ,
    delay above the base RTT where base RTTs differ."""
    quantity, way = column.quantity, column.direction
    rates = {run.configured_bps(way) for run in every.runs}
    if quantity.name == "throughput" and len(rates) > 1 and None not in rates:
        return _changed(every, column, _percent), "% of what the link carries"
    if (
        quantity.item is None
        and quantity.unit == "ms"
        and len({run.link.base_rtt_ns for run in every.runs}) > 1
    ):
        return _changed(every, column, _above_base), "ms above the base RTT"
    return column, _unit(quantity)


def _changed(every: SideBySide, column: Column, change: Callable[[Observed, str, float], float]) -> Column:
    values: dict[Key, list[float]] = {}
    for run in every.runs:
        value = column.quantity.of(run, column.direction)
        if value is not None:
            key = tuple(label(run, axis) for axis in every.axes)
            values.setdefault(key, []).append(change(run, column.direction, value))
    return replace(column, values={key: tuple(some) for key, some in values.items()})


def _percent(run: Observed, direction: str, mbps: float) -> float:
    test = run.shown.get(direction)
    return 100 * mbps * 1e6 / run.possible_bps(direction, None if test is None else test.window)


def _above_base(run: Observed, _direction: str, latency_ms: float) -> float:
    return latency_ms - run.link.base_rtt_ns / 1e6


def _subject(column: Column) -> str:
    during = _DURING[column.direction]
    if column.quantity.item is not None:
        return f"{column.quantity.item}'s {_WAY[column.direction]}{column.quantity.words}"
    return {
        "throughput": f"{_WAY[column.direction]}throughput",
        "latency under load": f"a round trip {during}",
        "RPM": f"responsiveness {during}",
        UTILISATION: "the flows' use of the link",
        FAIRNESS: "fairness among flows (Jain's index)",
    }[column.quantity.name]


def _verb(column: Column) -> str:
    return "took" if column.quantity.unit == "ms" and column.quantity.item is None else "was"


def _unit(quantity: Quantity) -> str:
    return "RPM" if quantity.name == "RPM" else "" if quantity.unit == "1" else quantity.unit


def _sentence(parts: Sequence[str], is_name: bool = False) -> str:
    text = "; ".join(parts)
    return f"{text if is_name else text[:1].upper() + text[1:]}."


def _join(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _note(every: SideBySide) -> str:
    counts = sorted({len(some) for column in every.columns for some in column.values.values()})
    runs = (
        "1 run" if counts == [1] else f"{' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} runs"
    )
    what = f"Each number is of {runs}" if counts == [1] else f"Each number is the median of n = {runs}"
    sure = (
        "with its 95 % interval in brackets"
        if counts[0] >= FOR_AN_INTERVAL
        else f"without a 95 % interval: that needs {FOR_AN_INTERVAL} runs of a condition"
        if counts[-1] < FOR_AN_INTERVAL
        else f"with its 95 % interval in brackets where there are {FOR_AN_INTERVAL} runs"
    )
    sources = dict.fromkeys(column.quantity.source for column in every.columns)
    return f"{what}, {sure}; {'; '.join(sources)}."
