"""Sojourn time over the run: median and 99th percentile per 10 ms, one row per qdisc, from the tap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from narrows.comparing.conditions import facet_title, fixed, group, queue_of, queue_rank, varying
from narrows.figures.by_rate import also
from narrows.figures.drawing import Drawing, Missing, Result, name_runs, run_ids
from narrows.figures.style import DIRECTION, canvas, colour, corner, queue_name, styled
from narrows.runs import loaded
from narrows.runs.observed import Observed

MAX_COLUMNS = 2
AXIS_ENDS_AT = 0.995  # one long spike at the start would flatten everything else


def sojourn_over_time(runs: Sequence[Observed], name: str, title: str, direction: str = "up") -> Result:
    """The first repetition of each condition; the last (most loaded) combinations of the axes when many."""
    shown = [
        r for r in runs if r.ok and direction in r.queues and r.queues[direction].sojourn_p99_ms.t_ns.size
    ]
    if not shown:
        return Missing(name, title, "no run in this directory has a tap of every packet in that direction")
    extra = varying(shown, besides=("queue",))
    columns = list(group(shown, extra).items())
    left_out = max(0, len(columns) - MAX_COLUMNS)
    columns = [columns[0], columns[-1]] if len(columns) > MAX_COLUMNS else columns
    queues = sorted({queue_of(r) for r in shown}, key=queue_rank)
    figure, grid = canvas(len(queues), len(columns), row_in=1.15, sharex="col", sharey=True)
    drawn: list[Observed] = []
    ends: list[float] = []
    with styled():
        for column, (key, members) in enumerate(columns):
            for row, queue in enumerate(queues):
                axes = grid[row][column]
                run = next((r for r in members if queue_of(r) == queue), None)
                if row == 0 and extra:
                    axes.set_title(facet_title(extra, key) + "\n")
                if column == 0:
                    axes.set_ylabel(queue_name(queue))
                if run is None:
                    corner(axes, "no run")
                    continue
                drawn.append(run)
                truth = run.queues[direction]
                tail, middle = (
                    truth.sojourn_p99_ms.within(_span(run)),
                    truth.sojourn_p50_ms.within(_span(run)),
                )
                axes.plot(tail.t_s, tail.value, color=colour(queue), alpha=0.35, linewidth=0.6)
                axes.plot(middle.t_s, middle.value, color=colour(queue), linewidth=0.8)
                _phases(axes, run)
                if tail.value.size:
                    corner(axes, f"max of p99 {np.max(tail.value):.3g} ms")
                    ends.append(float(np.quantile(tail.value, AXIS_ENDS_AT)))
        if ends:
            for axes in (each for row in grid for each in row):
                axes.set_ylim(0, max(*ends, 0.01) * 1.15)
        for axes in grid[-1]:
            axes.set_xlabel("time in the run [s]")
        figure.supylabel("sojourn time [ms]", fontsize=7.5)
    ids = run_ids(drawn)
    caption = (
        f"Sojourn time at the bottleneck in the {DIRECTION[direction]} direction over the run"
        f"{also(fixed(shown))}: median "
        "(dark) and 99th percentile (light) of the packets that left in each 10 ms, first repetition of each "
        f"condition. The axis ends at the 99.5 % point of the highest panel; the largest value is written "
        f"above each. The shaded spans are those in which {loaded.names(shown)} downloads "
        f"and uploads. {name_runs(ids)}"
    )
    if left_out:
        caption += f" The first and the last of the conditions are drawn; {left_out} between them are not."
    return Drawing(name, title, caption, ids, figure)


def _span(run: Observed) -> tuple[int, int]:
    """From the epoch to the end of the last test."""
    ends = [window[1] for way in loaded.ways(run) if (window := loaded.window(run, way))]
    return (0, max(ends) if ends else 2**62)


def _phases(axes: object, run: Observed) -> None:
    for way in loaded.ways(run):
        if (window := loaded.window(run, way)) is not None:
            start, stop = (t / 1e9 for t in window)
            axes.axvspan(start, stop, color="#000000", alpha=0.04, linewidth=0)  # type: ignore[attr-defined]
