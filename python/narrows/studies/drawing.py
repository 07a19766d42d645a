"""One way to draw a study's figures: points of conditions, and what their axes are: panels, places, colours.

A study says a figure as data (`Chart`). Points come from a claim's numbers (`of_numbers`) or from what was
measured (`of_items`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs
from narrows.figures.style import legend, panels_of, styled
from narrows.judging.parts import Item, Number, Read, grouped, spelt

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#7a1f5c")
MARKERS = "osD^vPX<"
ROW_IN = 0.22
MANY = 6
"""Places that leave little room for their names."""
PLAIN = FuncFormatter(lambda value, _: f"{value:g}")
Labels = Mapping[str, str]


@dataclass(frozen=True)
class Point:
    """What was found in a condition: a value of each run or trial, or one with its interval; none where it is
    not known."""

    labels: Labels
    values: Sequence[float]
    interval: tuple[float, float] | None = None

    @property
    def middle(self) -> float:
        """Their median."""
        return float(np.median(self.values))


def of_numbers(numbers: Iterable[Number], name: str = "", per: float = 1.0) -> list[Point]:
    """The numbers of that name, in so many (`per`) of their unit."""
    return [
        Point(
            n.conditions,
            [n.value / per],
            None if n.low is None or n.high is None else (n.low / per, n.high / per),
        )
        for n in numbers
        if not name or n.name == name
    ]


def of_items(items: Iterable[Item], read: Read, by: Sequence[str], per: float = 1.0) -> list[Point]:
    """What is read of each item, by condition; nothing of conditions where nothing is."""
    found = [
        Point(key, [value / per for item in own if (value := read(item.of)) is not None])
        for key, own in grouped(items, by)
    ]
    return [point for point in found if point.values]


def under(points: Iterable[Point], **labels: str) -> list[Point]:
    """The same with more labels."""
    return [Point({**point.labels, **labels}, point.values, point.interval) for point in points]


@dataclass(frozen=True)
class Chart:
    """A figure as data."""

    name: str
    title: str
    place: tuple[str, ...]
    """The axes whose labels are places, one beside the other."""
    label: str = ""
    """What the values are, with their unit; empty: the panels' labels say it."""
    hue: str = ""
    """The axis whose labels are colours; a label has one colour in all panels."""
    panel: str = ""
    """The axis whose labels are panels."""
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By axis its labels in order; others, and those of other axes, are in the order of the points."""
    called: Labels = field(default_factory=dict)
    """What a label is called in the figure; else it is written with its unit."""
    colours: Labels = field(default_factory=dict)
    look: Literal["bars", "rows", "lines"] = "bars"
    """Bars of medians; dots along a row for each place; or lines through medians."""
    apart: bool = False
    """Whether each panel has places and a scale of its own."""
    legend: str = ""
    """What stands over the legend."""
    columns: int = 0
    """Panels side by side; 0: all."""
    log: bool = False
    zero: bool = False
    """Whether the axis of values begins at 0."""
    line: float | None = None
    """A value at which a line stands in all panels, or in the one that is named `line_in`."""
    line_in: str = ""
    told: str = ""
    """What the caption says before it names the runs."""
    missing: str = "no run of it"


def draw(chart: Chart, points: Sequence[Point], ids: Sequence[str]) -> Result:
    """The figure, of these runs; `Missing` without values."""
    if not any(point.values for point in points):
        return Missing(chart.name, chart.title, chart.missing)
    panels, hues = (_labels(chart, points, axis) for axis in ((chart.panel,), (chart.hue,)))
    every = _labels(chart, points, chart.place)
    colours = {hue: chart.colours.get(hue[0], COLOURS[n % len(COLOURS)]) for n, hue in enumerate(hues)}
    columns, in_rows, alike = chart.columns or len(panels), chart.look == "rows", bool(chart.label)
    own_places = [
        _labels(chart, (one for one in points if _label(one, (chart.panel,)) == panel), chart.place)
        for panel in panels
    ]
    most = max(map(len, own_places)) if chart.apart else len(every)
    high = 0.6 + ROW_IN * most if in_rows else 1.8
    share = {"sharex": in_rows and alike and not chart.apart, "sharey": alike and not chart.apart}
    figure, cells = panels_of(len(panels), columns, row_in=high, **share)
    gaps: list[tuple[Axes, float, float]] = []
    with styled():
        for axes, panel, here in zip(cells, panels, own_places, strict=True):
            own = [point for point in points if _label(point, (chart.panel,)) == panel]
            places = here if chart.apart or not in_rows else every
            for step, (hue, colour) in enumerate(colours.items()):
                these = [
                    (places.index(_label(point, chart.place)), point)
                    for point in own
                    if point.values and _label(point, (chart.hue,)) == hue
                ]
                LOOKS[chart.look](axes, these, step, len(colours), colour)
                absent = set(range(len(places))) - {place for place, _ in these}
                if chart.look == "bars":
                    gaps += [(axes, *_beside(place, step, len(colours))) for place in absent]
            words, small = [_words(chart, place) for place in places], 8 if len(places) <= MANY else 7
            if in_rows:
                words = [each.replace("\n", ", ") for each in words]
                axes.set_yticks(range(len(places)), words, fontsize=small)
                axes.set_ylim(len(places) - 0.5, -0.5)
                axes.grid(True, axis="x")
            else:
                axes.set_xticks(range(len(places)), words, fontsize=small)
            axes.set_title(_words(chart, panel) if alike else "")
            is_named = in_rows or not alike or axes in cells[::columns]
            _measure(axes, chart, chart.label or _words(chart, panel), is_named)
        for axes in cells if chart.zero else ():
            (axes.set_xlim if in_rows else axes.set_ylim)(0)  # once all is drawn: it ends the scaling
        tops = {axes: axes.get_ylim()[1] for axes, *_ in gaps}
        for axes, at, wide in gaps:
            axes.bar(at, tops[axes], wide, color="none", edgecolor="#cccccc", hatch="////", linewidth=0)
        if len(hues) > 1:
            handles = [
                Line2D([], [], color=colour, marker="o", linestyle="none", label=_words(chart, hue))
                for hue, colour in colours.items()
            ]
            legend(figure, handles, "outside upper right", chart.legend)
    told = f"{chart.told} Hatched: not measured.".strip() if gaps else chart.told
    return finished(chart.name, chart.title, told, ids, figure)


def _label(point: Point, axes: Sequence[str]) -> tuple[str, ...]:
    return tuple(point.labels.get(axis, "") for axis in axes)


def _labels(chart: Chart, points: Iterable[Point], axes: Sequence[str]) -> list[tuple[str, ...]]:
    """The labels that occur on some axes, in order."""
    found = list(dict.fromkeys(_label(point, axes) for point in points))
    order = chart.orders.get(axes[0], ())
    return sorted(found, key=lambda each: order.index(each[0]) if each[0] in order else len(order))


def _words(chart: Chart, labels: Sequence[str]) -> str:
    return "\n".join(chart.called.get(label, spelt(label)) for label in labels)


def _beside(place: int, step: int, of: int) -> tuple[float, float]:
    """The middle and the width of one of several bars at a place."""
    return place + (step - (of - 1) / 2) * 0.8 / of, 0.74 / of


def _bars(axes: Axes, points: Iterable[tuple[int, Point]], step: int, of: int, colour: str) -> None:
    """Bars of the medians, and a dot for each of several values."""
    for place, point in points:
        at, wide = _beside(place, step, of)
        axes.bar(at, point.middle, wide, color=colour, zorder=2)
        if len(point.values) > 1:
            axes.plot([at] * len(point.values), point.values, ".", color="black", markersize=2.5, zorder=3)


def _rows(axes: Axes, points: Iterable[tuple[int, Point]], step: int, of: int, colour: str) -> None:
    """Dots along a row, with the interval, or the range of several values."""
    for place, point in points:
        at = place + (step - (of - 1) / 2) * 0.7 / of
        span = point.interval or (min(point.values), max(point.values))
        axes.plot(span, [at, at], color=colour, linewidth=1.0)
        marker, high = MARKERS[step % len(MARKERS)], [at] * len(point.values)
        axes.plot(point.values, high, marker, color=colour, markersize=3.5)


def _lines(axes: Axes, points: Iterable[tuple[int, Point]], step: int, of: int, colour: str) -> None:
    """A dot for each value, and a line through the medians."""
    marker, ordered = MARKERS[step % len(MARKERS)], sorted(points, key=lambda each: each[0])
    for place, point in ordered:
        values = point.values
        axes.plot([place] * len(values), values, marker, color=colour, markersize=3, alpha=0.5)
    axes.plot([place for place, _ in ordered], [point.middle for _, point in ordered], color=colour)


LOOKS = {"bars": _bars, "rows": _rows, "lines": _lines}


def _measure(axes: Axes, chart: Chart, label: str, is_named: bool) -> None:
    """The axis of values."""
    in_rows = chart.look == "rows"
    axis = axes.xaxis if in_rows else axes.yaxis
    if is_named:
        axis.set_label_text(label)
    if chart.log:
        (axes.set_xscale if in_rows else axes.set_yscale)("log")
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(PLAIN)
        axis.set_minor_locator(NullLocator())
    if chart.line is not None and chart.line_in in ("", label):
        draw_line = axes.axvline if in_rows else axes.axhline
        draw_line(chart.line, color="#999999", linewidth=0.7, linestyle="--", zorder=1)


def finished(name: str, title: str, told: str, ids: Iterable[str], figure: Figure) -> Drawing:
    """A figure with what is told of it, and its runs."""
    every = tuple(sorted(set(ids)))
    return Drawing(name, title, f"{told} {count_runs(len(every))}. {name_runs(every)}".strip(), every, figure)
