"""The tables below the answer: one for each item, a row for each condition, a column for each figure."""

from __future__ import annotations

from dataclasses import dataclass

from narrows.comparing.outcome import DONE, KINDS, LINK, RATE, Key, Measure, Outcome
from narrows.comparing.words import with_interval

_WAY = {"down": "download", "up": "upload"}


@dataclass(frozen=True)
class Column:
    """A figure: what it is, its unit, and which of it is better."""

    words: str
    unit: str
    better: str | None


@dataclass(frozen=True)
class ItemTable:
    """What one item got under every condition under which it was there."""

    item: str
    axes: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], int, tuple[str, ...]], ...]
    """Labels, number of runs, and the median of each figure with its interval."""
    zero: tuple[str, ...]
    """Figures that were 0 in every run."""


def tables(every: Outcome) -> tuple[ItemTable, ...]:
    """In the order of the answer; none where no items shared the link."""
    return tuple(_table(every, whose) for whose in every.items)


def _table(every: Outcome, whose: str) -> ItemTable:
    measures = every.of_item(whose, *(kind for kind in KINDS if kind != LINK))
    shown = [measure for measure in measures if measure.kind == RATE or not measure.is_zero]
    rows = []
    for key in every.keys:
        n = max((len(measure.values.get(key, ())) for measure in measures), default=0)
        if n:
            rows.append((key, n, tuple(_cell(measure, key, n) for measure in shown)))
    zero = tuple(_words(measure) for measure in measures if measure not in shown)
    columns = [Column(_words(m), "" if m.unit == "1" else m.unit, m.better) for m in shown]
    return ItemTable(whose, every.axes, tuple(columns), tuple(rows), zero)


def _cell(measure: Measure, key: Key, n: int) -> str:
    if key in measure.done:
        return DONE
    of = measure.of(key)
    return with_interval(of) + (f" (n = {of.n})" if 0 < of.n < n else "")


def _words(measure: Measure) -> str:
    way = _WAY.get(measure.direction) if measure.both_ways else None
    return f"{measure.words}, {way}" if way else measure.words
