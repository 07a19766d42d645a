"""Draws what a search found: a curve over one axis, a map over two, and one for each pair of more axes."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from narrows.figures.style import canvas, styled, without_formulas
from narrows.search.breaks import Break, breaks
from narrows.search.chooser import Surface
from narrows.search.search import Search
from narrows.search.space import Dimension, Place

TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
FINE = 80


def draw(search: Search) -> Figure:
    """One panel a metric (over more than two axes: one a metric and pair of axes); the captions say what."""
    pairs = list(itertools.combinations(range(len(search.dimensions)), 2)) or [(0, 0)]
    figure, axes = canvas(len(search.metrics), len(pairs), row_in=2.9)
    with styled():
        for row, (index, metric) in enumerate(enumerate(search.metrics)):
            known = [p for p in search.points if p.values[index] is not None]
            places = [p.place for p in known]
            values = [float(v) for p in known if (v := p.values[index]) is not None]
            changes = breaks(places, values)
            for column, pair in enumerate(pairs):
                panel = axes[row][column]
                name = f"{metric} ({search.units.get(metric, '')})"
                if len(search.dimensions) == 1:
                    _curve(panel, search, index, places, values, changes)
                    panel.set_ylabel(name)
                else:
                    drawn = _map(panel, search, index, pair, places, values, changes)
                    figure.colorbar(drawn, ax=panel, label=name)
    without_formulas(figure)
    return figure


def _ticks(panel: Axes, x: Dimension, y: Dimension | None = None) -> None:
    panel.set_xticks(TICKS, [x.label(part) for part in TICKS])
    panel.set_xlabel(x.name)
    if y is not None:
        panel.set_yticks(TICKS, [y.label(part) for part in TICKS])
        panel.set_ylabel(y.name)


def _curve(
    panel: Axes,
    search: Search,
    metric: int,
    places: Sequence[Place],
    values: Sequence[float],
    changes: Sequence[Break],
) -> None:
    order = sorted(range(len(places)), key=lambda i: places[i])
    x = [places[i][0] for i in order]
    y = [values[i] for i in order]
    known = [p for p in search.points if p.values[metric] is not None]
    low = [float(known[i].lowest[metric] or 0.0) for i in order]
    high = [float(known[i].highest[metric] or 0.0) for i in order]
    panel.fill_between(x, low, high, alpha=0.2, linewidth=0)
    panel.plot(x, y, marker="o", markersize=3.5, linewidth=1.2)
    for one in changes:
        panel.axvspan(*sorted((places[one.first][0], places[one.second][0])), color="tab:red", alpha=0.2)
    panel.set_ylim(bottom=min(0.0, *y) if y else 0.0)
    _ticks(panel, search.dimensions[0])


def _map(
    panel: Axes,
    search: Search,
    metric: int,
    pair: tuple[int, int],
    places: Sequence[Place],
    values: Sequence[float],
    changes: Sequence[Break],
) -> Any:
    """Over two axes the surface; over more the points alone, whose other axes differ."""
    a, b = pair
    x, y = [p[a] for p in places], [p[b] for p in places]
    if len(search.dimensions) == 2 and len(places) > 3:
        line = np.linspace(0.0, 1.0, FINE)
        grid = [(float(u), float(v)) for v in line for u in line]
        surface = Surface(places, values).at(grid).reshape(FINE, FINE)
        drawn: Any = panel.pcolormesh(line, line, surface, shading="nearest", rasterized=True)
        panel.scatter(x, y, s=8, color="white", edgecolors="black", linewidths=0.5)
    else:
        drawn = panel.scatter(x, y, c=values, s=14)
    for one in changes:
        ends = (one.first, one.second)
        panel.plot([x[i] for i in ends], [y[i] for i in ends], color="tab:red", linewidth=2)
    _ticks(panel, search.dimensions[a], search.dimensions[b])
    return drawn
