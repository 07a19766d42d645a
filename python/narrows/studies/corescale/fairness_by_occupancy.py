"""When BBR is unfair to itself: Jain's index of each run against how full its queue was.

What conditions have in common where BBR flows share badly is that the queue hardly ever drains, so that no
flow sees the base RTT; the same condition may fall either way. So a point here is a run, not a condition.
"""

from collections.abc import Sequence

from matplotlib.lines import Line2D

from narrows.figures.drawing import Missing, Result, run_ids
from narrows.figures.style import PAGE_IN, canvas, styled
from narrows.runs.observed import Observed
from narrows.studies.corescale.by_flows import COLOURS
from narrows.studies.corescale.case import SCALES, thesis_cases
from narrows.studies.corescale.fairness_by_buffer import buffer_in_bdp
from narrows.studies.drawing import finished

SHALLOW_BDP = 1.0


def fairness_by_occupancy(runs: Sequence[Observed], name: str, title: str) -> Result:
    """One panel; colour by scale, open markers for less than a BDP of buffer."""
    points = [
        (case.scale, at < SHALLOW_BDP, run.many.occupancy_mean, run.many.jain, run)
        for case, same in thesis_cases(runs).items()
        if case.ccas == ("bbr",) and (at := buffer_in_bdp(case)) is not None
        for run in same
        if run.many is not None and run.many.occupancy_mean is not None and run.many.jain is not None
    ]
    if not points:
        return Missing(name, title, "no run of BBR flows alone that recorded its queue")
    colours = {scale: COLOURS[i % len(COLOURS)] for i, scale in enumerate(SCALES.values())}
    figure, [[axes]] = canvas(1, 1, PAGE_IN * 0.6, row_in=2.9)
    with styled():
        for scale, shallow, occupancy, jain, _ in points:
            axes.plot(
                100 * occupancy, jain, marker="o", markersize=4.5, linestyle="none", alpha=0.8,
                color=colours[scale], fillstyle="none" if shallow else "full", clip_on=False,
            )  # fmt: skip
        axes.set_xlim(0, 100)
        axes.set_ylim(0, 1.04)
        axes.set_xlabel("mean occupancy of the queue (% of its limit)")
        axes.set_ylabel("Jain's index")
        shown = [scale for scale in colours if any(point[0] == scale for point in points)]
        handles = [
            Line2D([], [], color=colours[s], marker="o", markersize=4.5, linestyle="none", label=s)
            for s in shown
        ]
        if any(shallow for _, shallow, *_ in points):
            handles.append(
                Line2D([], [], color="black", marker="o", markersize=4.5, linestyle="none", fillstyle="none",
                       label="buffer below one BDP")
            )  # fmt: skip
        axes.legend(handles=handles, loc="lower left")
    ids = run_ids(run for *_, run in points)
    told = (
        "Jain's index of BBR flows among themselves by the mean backlog of the bottleneck over its limit, "
        "after the warm-up. A point per run, all conditions with a drop-tail queue; "
    )
    return finished(name, title, told, ids, figure)
