"""The table beside the figures: by condition and quantity n, median with its interval, IQR, p95, p99, std."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from narrows.comparing.conditions import REPETITION, axes, group
from narrows.comparing.items import frame, told_apart
from narrows.comparing.of_link import of_link
from narrows.comparing.outcome import told
from narrows.comparing.repetitions import independent
from narrows.figures.style import DIRECTION
from narrows.metrics.statistics.distribution import Distribution, distribution
from narrows.runs.measure import Measure
from narrows.runs.observed import Observed


@dataclass(frozen=True)
class Row:
    """One quantity under one condition."""

    condition: tuple[str, ...]
    quantity: str
    unit: str
    over: str  # what n counts
    values: Distribution


@dataclass(frozen=True)
class Table:
    """Rows with the names of the axes of their conditions."""

    axes: tuple[str, ...]
    rows: tuple[Row, ...]


def summary(runs: Sequence[Observed], on: Sequence[str] | None = None) -> Table:
    """All conditions of the good runs, or those that the axes `on` tell apart; repetitions that are equal
    count as one. Quantities that were not measured have no row."""
    good, _ = independent([r for r in runs if r.ok])
    by = [a for a in axes(good) if a != REPETITION] if on is None else list(on)
    rows: list[Row] = []
    every = told_apart(frame(good).filter(~pl.col("is_probe")))
    for key, same in group(good, by).items():
        own = every.filter(pl.col("run_id").is_in([run.run_id for run in same]))
        rows += [Row(key, *row) for row in (*_item_rows(own), *_link_rows(same))]
    return Table(tuple(by), tuple(rows))


def to_csv(table: Table) -> str:
    """The table for other programs, every digit of it; an empty cell is a value that is not known."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*table.axes, "quantity", "unit", "over", "n", "median", "low", "high", "iqr", "p95", "p99", "max",
         "mean", "std"]
    )  # fmt: skip
    for row in table.rows:
        of, sure = row.values, row.values.median_interval
        writer.writerow(
            [*row.condition, row.quantity, row.unit, row.over, of.n, of.median, sure and sure.low,
             sure and sure.high, of.iqr, of.p95, of.p99, of.maximum, of.mean, of.std]
        )  # fmt: skip
    return out.getvalue()


def _item_rows(table: pl.DataFrame) -> Iterator[tuple[str, str, str, Distribution]]:
    """What each item got, and what it says of itself (`narrows.comparing.items`)."""
    what = ["whose", "words", "direction", "quantity", "unit"]
    for (whose, words, direction, figure, unit), rows in table.group_by(what, maintain_order=True):
        scale, shown = told(str(figure), str(unit))
        way = f", {DIRECTION[str(direction)]}" if direction else ""
        yield f"{whose}: {words}{way}", shown, "runs", distribution([v * scale for v in rows["value"]])


def _link_rows(same: Sequence[Observed]) -> Iterator[tuple[str, str, str, Distribution]]:
    """What was measured of the link (`narrows.comparing.of_link`)."""
    found: dict[tuple[str, str], list[Measure]] = {}
    for each in (each for run in same for each in of_link(run)):
        found.setdefault((each.quantity, each.direction or ""), []).append(each)
    for (quantity, way), some in found.items():
        scale, unit = told(quantity, some[0].unit)
        words = f"{DIRECTION[way]} {some[0].words}" if way else some[0].words
        yield words, unit, "runs", distribution([each.value * scale for each in some])
