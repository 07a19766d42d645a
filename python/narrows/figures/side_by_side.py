"""The conditions of an experiment side by side: throughput, latency under load and RPM on one sheet.

`side_by_side` gathers the numbers, which the words of a report use as well; `draw` draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from narrows.comparing.headline import WHOLE, Quantity, quantities
from narrows.figures.conditions import facet_title, group, varying
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import PAGE_IN, canvas, styled
from narrows.metrics.statistics.distribution import Distribution, distribution
from narrows.runs.observed import DIRECTIONS, Observed

Key = tuple[str, ...]
MOST_PANELS = 6
MOST_ROWS = 36
"""Conditions on one sheet; with more, runs that differ in the axes that separate least are one row."""
MOST_WRITTEN = 16
"""Rows that have room for their numbers."""
LOG_FROM = 8.0
"""A panel whose largest median is so many times its smallest has a logarithmic axis."""
INCHES_A_ROW, INCHES_A_BARE_ROW = 0.3, 0.19
_LOOK = {"down": ("#0072b2", "o", "download"), "up": ("#d55e00", "s", "upload"), WHOLE: ("#333333", "D", "")}
_SPELT_OUT = ("queue", "tool")
"""Axes whose labels need no name before them."""


@dataclass(frozen=True)
class Column:
    """One quantity in one direction: its values by condition. A condition without any has no entry."""

    quantity: Quantity
    direction: str
    values: dict[Key, tuple[float, ...]]

    def of(self, key: Key) -> Distribution:
        """Median, interval and n of a condition."""
        return distribution(self.values.get(key, ()))

    def median(self, key: Key) -> float:
        """Median of a condition that has values."""
        return float(np.median(self.values[key]))


@dataclass(frozen=True)
class SideBySide:
    """Conditions (labels on `axes`, in order), and what was measured under them."""

    axes: tuple[str, ...]
    keys: tuple[Key, ...]
    columns: tuple[Column, ...]
    runs: tuple[Observed, ...]


def side_by_side(runs: Sequence[Observed], by: Sequence[str] | None = None) -> SideBySide | None:
    """All conditions of the good runs, or those that `by` tells apart; None where no run loaded a link."""
    good = [run for run in runs if run.ok]
    told = tuple(varying(good) if by is None else by)
    groups = group(good, told)
    columns = []
    for quantity in quantities(good):
        for direction in (*DIRECTIONS, WHOLE):
            values = {
                key: tuple(v for run in same if (v := quantity.of(run, direction)) is not None)
                for key, same in groups.items()
            }
            kept = {key: some for key, some in values.items() if some}
            if kept:
                columns.append(Column(quantity, direction, kept))
    keys = tuple(key for key in groups if any(key in column.values for column in columns))
    return SideBySide(told, keys, tuple(columns), tuple(good)) if keys else None


def condition_name(axes: Sequence[str], key: Key) -> str:
    """A condition as its person labelled it: `docsis_pie, rate 25Mbit`."""
    parts = zip(axes, key, strict=True)
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


def separating(column: Column, axes: Sequence[str]) -> list[tuple[str, list[tuple[float, str]]]]:
    """The axes, that which separates most first, each with the median of every label, lowest first.

    An axis separates as much as the medians of its labels (over the medians of their conditions) lie apart.
    """
    found = []
    for place, axis in enumerate(axes):
        by: dict[str, list[float]] = {}
        for key in column.values:
            by.setdefault(key[place], []).append(column.median(key))
        medians = sorted((float(np.median(some)), text) for text, some in by.items())
        found.append((axis, medians))
    return sorted(found, key=lambda each: each[1][0][0] - each[1][-1][0])


def draw(runs: Sequence[Observed], name: str, title: str) -> Result:
    """A row for each condition, a panel for each quantity; downloads and uploads one above the other."""
    every = side_by_side(runs)
    if every is None:
        return Missing(name, title, "no run here has a speed test or a load whose rate is known")
    shown = _fewer(every)
    panels = list(dict.fromkeys(column.quantity.name for column in shown.columns if column.quantity.drawn))[
        :MOST_PANELS
    ]
    rows = len(shown.keys)
    inches = INCHES_A_ROW if rows <= MOST_WRITTEN else INCHES_A_BARE_ROW
    figure, grid = canvas(1, len(panels), PAGE_IN, inches * rows + 0.7, sharey=True)
    names = [condition_name(shown.axes, key) or "all runs" for key in shown.keys]
    with styled():
        for axes, panel in zip(grid[0], panels, strict=True):
            own = [column for column in shown.columns if column.quantity.name == panel]
            _panel(axes, shown, own)
        grid[0][0].set_yticks(range(rows), names)
        grid[0][0].set_ylim(rows - 0.5, -0.5)
        _legend(figure, shown)
    pooled = [axis for axis in every.axes if axis not in shown.axes]
    caption = (
        f"{len(every.keys)} condition{'s' if len(every.keys) != 1 else ''} side by side, "
        f"{count_runs(len(every.runs))}. Marks are medians over the runs, small dots the runs; "
        "thick lines, and brackets beside the median, are the median's 95 % interval by order statistics "
        "(none with fewer than six runs). "
        + "".join(
            f"{_capital(q.source)}. " for q in {c.quantity.name: c.quantity for c in shown.columns}.values()
        )
        + (f"To fit one sheet, runs that differ in {', '.join(pooled)} are one row here. " if pooled else "")
    )
    return Drawing(name, title, f"{caption}{name_runs(run_ids(every.runs))}", run_ids(every.runs), figure)


def _fewer(every: SideBySide) -> SideBySide:
    """The same with as many axes as fit on one sheet."""
    shown, axes = every, list(every.axes)
    while len(shown.keys) > MOST_ROWS and len(axes) > 1:
        order = [[axis for axis, _ in separating(column, shown.axes)] for column in shown.columns]
        last = max(axes, key=lambda axis: sum(each.index(axis) for each in order))
        axes.remove(last)
        shown = side_by_side(every.runs, axes) or shown
    return shown


def _panel(axes: Axes, shown: SideBySide, own: Sequence[Column]) -> None:
    written = len(shown.keys) <= MOST_WRITTEN
    medians = []
    for place, column in enumerate(own):
        colour, mark, _ = _LOOK[column.direction]
        shift = 0.0 if len(own) == 1 else 0.4 * place / (len(own) - 1) - 0.2
        for row, key in enumerate(shown.keys):
            if key not in column.values:
                continue
            points, of, y = column.values[key], column.of(key), row + shift
            assert of.median is not None
            medians.append(of.median)
            axes.plot(points, [y] * len(points), ".", color=colour, alpha=0.35, markersize=3, linewidth=0)
            if of.median_interval:
                ends = [of.median_interval.low, of.median_interval.high]
                axes.plot(ends, [y, y], color=colour, linewidth=2.2, solid_capstyle="butt")
            axes.plot([of.median], [y], mark, color=colour, markersize=4, clip_on=False)
            if written:
                axes.annotate(
                    with_interval(of), (1.02, y), xycoords=("axes fraction", "data"),
                    fontsize=6, color=colour, va="center", annotation_clip=False,
                )  # fmt: skip
    if min(medians) > 0 and max(medians) / min(medians) >= LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)
    quantity = own[0].quantity
    unit = {"1/min": "round trips/min", "1": "index"}.get(quantity.unit, quantity.unit)
    axes.set_xlabel(f"{unit}, {'more' if quantity.more_is_better else 'less'} is better")
    axes.set_title(_capital(quantity.name))
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0)


def _legend(figure: Figure, shown: SideBySide) -> None:
    ways = [way for way in (*DIRECTIONS, WHOLE) if any(c.direction == way for c in shown.columns)]
    handles = [
        Line2D(
            [],
            [],
            color=_LOOK[way][0],
            marker=_LOOK[way][1],
            markersize=4,
            linewidth=2.2,
            label=_LOOK[way][2],
        )
        for way in ways
        if _LOOK[way][2]
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles) or 1)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
