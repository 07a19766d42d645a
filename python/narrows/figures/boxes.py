"""Draws distributions side by side: every repetition as a point, a box where there are enough of them.

With fewer than five values a box would only pretend: then points and a tick at the median are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from narrows.metrics.statistics.arrays import Floats

MIN_FOR_BOX = 5
POINT_SIZE = 7.0


def draw_box(
    axes: Axes, x: float, values: Floats, width: float, colour: str, marker: str, points: bool = True
) -> None:
    """One distribution at position x."""
    if values.size == 0:
        return
    if values.size >= MIN_FOR_BOX:
        axes.boxplot(
            [values],
            positions=[x],
            widths=width,
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": colour, "alpha": 0.28, "edgecolor": colour, "linewidth": 0.7},
            medianprops={"color": colour, "linewidth": 1.5},
            whiskerprops={"color": colour, "linewidth": 0.7},
            capprops={"color": colour, "linewidth": 0.7},
        )
    else:
        median = float(np.median(values))
        axes.plot(
            [x - width / 2, x + width / 2],
            [median, median],
            color=colour,
            linewidth=1.5,
            solid_capstyle="butt",
        )
    if points:
        axes.scatter(
            x + _spread(values.size, width * 0.55),
            values,
            s=POINT_SIZE,
            marker=marker,
            color=colour,
            linewidths=0,
            alpha=0.85,
            zorder=3,
        )


def _spread(n: int, width: float) -> Floats:
    """Sideways offsets that keep points apart; fixed, so that the same data draw the same figure."""
    if n == 1:
        return np.zeros(1)
    order = np.argsort((np.arange(n) * 0.6180339887) % 1.0, kind="stable")
    return np.asarray((order / (n - 1) - 0.5) * width, dtype=np.float64)


def slots(count: int, group_width: float = 0.8) -> tuple[Sequence[float], float]:
    """Offsets of `count` boxes within a group at an integer position, and the width of each."""
    step = group_width / max(count, 1)
    return [step * (k + 0.5) - group_width / 2 for k in range(count)], step * 0.78
