"""How the flows came to share: Jain's index per window over the run, one line per run of a condition."""

from __future__ import annotations

from collections.abc import Sequence

from narrows.metrics.flow_case import flow_cases
from narrows.metrics.many_flows import FAIRNESS_WINDOW_NS
from narrows.metrics.observed import Observed
from narrows.report.drawing import Drawing, Missing, Result, name_runs, run_ids
from narrows.report.style import PAGE_IN, canvas, styled

MAX_PANELS = 12
COLUMNS = 3
COLOUR = "#0072b2"


def fairness_over_time(runs: Sequence[Observed], name: str, title: str) -> Result:
    """A panel per condition."""
    found = {
        case: [run for run in same if run.many is not None and run.many.jain_series.height > 1]
        for case, same in flow_cases(runs).items()
    }
    # Where there are more than places, the thesis' conditions come first.
    panels = sorted(((c, same) for c, same in found.items() if same), key=lambda each: not each[0].is_thesis)
    if not panels:
        return Missing(name, title, "no run here has a series of what its flows delivered")
    left_out = max(0, len(panels) - MAX_PANELS)
    panels = panels[:MAX_PANELS]
    rows = -(-len(panels) // COLUMNS)
    figure, grid = canvas(rows, COLUMNS, PAGE_IN, row_in=1.5, sharey=True)
    cells = [axes for row in grid for axes in row]
    with styled():
        for axes, (case, same) in zip(cells, panels, strict=False):
            for run in same:
                assert run.many is not None
                series = run.many.jain_series.drop_nulls("jain")
                axes.plot(series["t_ns"] / 1e9, series["jain"], color=COLOUR, linewidth=0.7, alpha=0.7)
            axes.set_title(case.words(), fontsize=6.5)
            axes.set_ylim(0, 1.04)
        for axes in cells[len(panels) :]:
            axes.set_visible(False)
        for row in grid:
            row[0].set_ylabel("Jain's index")
        for axes in grid[-1]:
            axes.set_xlabel("time (s)")
    ids = run_ids(run for _, same in panels for run in same)
    caption = (
        f"Jain's index of what all flows delivered in each window of {FAIRNESS_WINDOW_NS / 1e9:g} s, after "
        f"the warm-up; short windows read as less fair than long ones. A line per run. {name_runs(ids)}"
    )
    if left_out:
        caption += f" {left_out} further condition(s) are not drawn."
    return Drawing(name, title, caption, ids, figure)
