"""One run over time as a still picture: the panels of `narrows.figures.over_time` one below the other, for
paper and for browsers without scripts."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from narrows.figures.drawing import Drawing, Missing, Result, name_runs
from narrows.figures.over_time import STRETCHES, Line, over_time
from narrows.figures.style import ITEMS, canvas, styled
from narrows.runs.observed import Observed

MOST_PANELS = 10
OTHERS = ("#4d5a66", "#8a5a00", "#b00020", "#2b6f4f")
"""Colours of lines that are of no item."""


def timeline(run: Observed, name: str, title: str, only: Sequence[str] = ()) -> Result:
    """All panels that say something, or those of these keys."""
    known = over_time(run, stretches=STRETCHES // 2)
    told = [] if known is None else [panel for panel in known.panels if not panel.folded]
    panels = [panel for panel in told if not only or panel.key in only][:MOST_PANELS]
    if known is None or not panels:
        return Missing(name, title, "the run has no series over time")
    figure, grid = canvas(len(panels), 1, row_in=1.25, sharex=True)
    with styled():
        for (axes, *_), panel in zip(grid, panels, strict=True):
            others = itertools.cycle(OTHERS)
            for line in panel.lines:
                colour = next(others) if line.item is None else ITEMS[known.colours[line.item] % len(ITEMS)]
                t, value = line.data.t, line.data.value
                if line.style == "bars":
                    axes.bar(t, value, width=_width(line), color=colour, label=line.name)
                elif line.style == "points":
                    axes.plot(t, value, ".", markersize=1.5, color=colour, label=line.name, rasterized=True)
                else:
                    style: Any = "steps-post" if line.style == "step" else "default"
                    axes.plot(t, value, color=colour, linewidth=0.8, label=line.name, drawstyle=style)
                    if line.data.low is not None and line.data.high is not None:
                        axes.fill_between(
                            t, line.data.low, line.data.high, color=colour, alpha=0.18, linewidth=0
                        )
            axes.set_title(f"{panel.title} [{panel.unit}]" if panel.unit else panel.title)
            axes.set_ylim(bottom=0)
            axes.legend(loc="upper right", ncols=4, fontsize=6.5)
        grid[-1][0].set_xlabel("time in the run [s]")
        grid[0][0].set_xlim(known.span_ns[0] / 1e9, known.span_ns[1] / 1e9)
    return Drawing(name, title, name_runs((run.run_id,)), (run.run_id,), figure, is_paper=True)


def _width(line: Line) -> float:
    steps = np.diff(line.data.t)
    return float(np.median(steps)) if steps.size else 0.01
