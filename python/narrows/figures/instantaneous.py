"""Instantaneous throughput of the speed test at the bottleneck over time.

From the tap, in 10 ms bins: bytes of the test's own packets that left the bottleneck's queue. One row per
qdisc, one line per repetition, at most three repetitions so that lines can be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np

from narrows.comparing.conditions import (
    facet_title,
    fixed,
    group,
    queue_of,
    queue_rank,
    rate_text,
    varying,
)
from narrows.figures.by_rate import also
from narrows.figures.drawing import Drawing, Missing, Result, name_runs, run_ids
from narrows.figures.style import DIRECTION, MARK_COLOUR, canvas, colour, corner, queue_name, styled
from narrows.metrics.statistics.stability import coefficient_of_variation
from narrows.runs import loaded
from narrows.runs.observed import Observed
from narrows.units import NS_PER_S

REPETITIONS = 3
MAX_COLUMNS = 4


def instantaneous_throughput_figure(
    runs: Sequence[Observed], name: str, title: str, direction: str = "up", conditions: str = ""
) -> Result:
    """Rows are qdiscs, columns other axes that differ (at most four)."""
    # That there is a tap is known without its series, which are read only for what is drawn.
    shown = [r for r in runs if r.ok and direction in r.queues and loaded.reads(r, direction)]
    if not shown:
        return Missing(name, title, f"no run with a tap has a {DIRECTION[direction]} under these conditions")
    extra = varying(shown, besides=("queue",))
    columns = list(group(shown, extra).items())
    left_out = max(0, len(columns) - MAX_COLUMNS)
    columns = columns[:MAX_COLUMNS]
    queues = sorted({queue_of(r) for r in shown}, key=queue_rank)
    figure, grid = canvas(len(queues), len(columns), row_in=1.15, sharex=True, sharey="col")
    drawn: list[Observed] = []
    with styled():
        for column, (key, members) in enumerate(columns):
            for row, queue in enumerate(queues):
                axes = grid[row][column]
                same = [r for r in members if queue_of(r) == queue][:REPETITIONS]
                spread = []
                for k, run in enumerate(same):
                    series = loaded.throughput_bps(run, direction)
                    if not series.t_ns.size:
                        continue
                    t = (series.t_ns - series.t_ns[0]) / NS_PER_S
                    axes.plot(
                        t, series.value / 1e6, color=colour(queue), alpha=(0.95, 0.5, 0.3)[k], linewidth=0.6
                    )
                    spread.append(coefficient_of_variation(series.value))
                    drawn.append(run)
                if same:
                    axes.axhline(
                        same[0].rate_bps(direction) / 1e6, color=MARK_COLOUR, linewidth=0.7, zorder=1
                    )
                known = [v for v in spread if v is not None]
                if row == 0 and extra:
                    axes.set_title(facet_title(extra, key) + "\n")
                if column == 0:
                    axes.set_ylabel(queue_name(queue))
                words = f"variation {np.median(known):.1%}" if known else "no run" if not same else ""
                corner(axes, words)
        for axes in grid[0]:  # after everything is drawn: it fixes the top too, for the whole column
            axes.set_ylim(0, axes.get_ylim()[1] * 1.05)
        figure.supxlabel(f"time since the {DIRECTION[direction]} began [s]", fontsize=7.5)
        figure.supylabel("throughput [Mbit/s]", fontsize=7.5)
    if not drawn:
        plt.close(figure)
        return Missing(name, title, f"no bin of a {DIRECTION[direction]} lies within its test")
    ids = run_ids(drawn)
    caption = (
        f"Instantaneous {DIRECTION[direction]} throughput of {loaded.names(shown)} at the bottleneck, "
        f"10 ms bins "
        f"from the tap (Ethernet and IP headers included){also(conditions or fixed(shown))}. "
        f"Up to {REPETITIONS} repetitions, the first strongest; the red line is the configured rate "
        f"({', '.join(rate_text(x) for x in sorted({r.rate_bps(direction) for r in shown}))}). "
        f'"variation" is the coefficient of variation of the bins, median over the repetitions shown. '
        f"{name_runs(ids)}"
    )
    if left_out:
        caption += f" {left_out} further combination(s) of {', '.join(extra)} are not drawn."
    return Drawing(name, title, caption, ids, figure)
