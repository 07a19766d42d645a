"""What the study's page draws: rates over time against the capacity, and what of a call is felt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import MARK_COLOUR, canvas, styled
from narrows.judging.items import Item, grouped
from narrows.metrics.statistics.arrays import clean
from narrows.runs import phases
from narrows.runs.observed import Observed
from narrows.studies.media.claims.measures import of_case
from narrows.studies.media.testbed import PROGRAMS

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
SECTION = "The cases of RFC 8867"
CASES = {
    "m1_single": "A capacity that changes, one flow (5.1)",
    "m2_several": "A capacity that changes, two flows (5.2)",
    "m3_feedback": "A congested way of feedback (5.3)",
    "m4_competing": "Three flows, one after the other (5.4)",
    "m5_long_tcp": "Beside a long TCP flow (5.6)",
    "m6_short_tcp": "Beside short TCP flows (5.7)",
    "m7_pause": "One of three flows pauses (5.8)",
}
SHORT = "short"
"""So begin the names of short TCP flows, which are not drawn."""
BIN_S = 0.5
QUEUES = ("droptail", "fq_codel", "cake", "dualpi2")
FELT = {
    "call_frame_delay_p95_ms": "camera to screen, p95 [ms]",
    "call_frozen_share": "time frozen [%]",
    "call_ssim": "SSIM",
    "call_height": "lines",
}


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """Each with its section."""
    made: list[Callable[[], Result]] = []
    for case, title in CASES.items():
        made.append(partial(rates, runs, case, title))
    made.append(partial(felt, runs))
    return [(SECTION, make) for make in made]


def rates(runs: Sequence[Observed], case: str, title: str) -> Result:
    """What left the bottleneck of each flow, a panel for each program, and the capacity."""
    name = f"{case.partition('_')[0]}_rates"
    own = {
        program: [item.of for item in those if item.of.truth("down") is not None]
        for program, those in _by(runs, case, "droptail").items()
    }
    shown = {program: those[0] for program, those in own.items() if those}
    if not shown:
        return Missing(name, title, f"no run of it whose series are here: narrows run {case}")
    figure, grid = canvas(1, len(shown), row_in=1.8, sharey=True)
    with styled():
        for axes, (program, run) in zip(grid[0], shown.items(), strict=True):
            edges = [each / 1e9 for phase in phases.phases(run) for each in phase]
            steps = [phases.capacity_bps(run, n) / 1e6 for n in range(1, len(edges) // 2 + 1) for _ in "ab"]
            axes.plot(edges, steps, color=MARK_COLOUR, linewidth=1, label="capacity")
            truth = run.truth("down")
            flows = [
                item
                for item in (truth.throughput_bps if truth else {})
                if item and not item.startswith(SHORT)
            ]
            for colour, item in zip(COLOURS, sorted(flows), strict=False):
                series = truth.throughput_bps[item] if truth else None
                if series is not None:
                    at, mbps = _binned(series.t_s, series.value)
                    axes.plot(at, mbps, color=colour, linewidth=0.9, label=item)
            axes.set_title(program)
            axes.set_xlabel("time [s]")
        grid[0][0].set_ylabel("rate [Mbit/s]")
        grid[0][0].set_ylim(bottom=0)
        grid[0][-1].legend()
    ids = run_ids(shown.values())
    caption = (
        f"At the bottleneck's link layer, means of {BIN_S} s; drop-tail of 300 ms at the reference capacity. "
        f"{count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)


def _by(runs: Sequence[Observed], case: str, queue: str) -> dict[str, list[Item]]:
    """The runs of a case behind a queue, by program."""
    own = [item for item in of_case(runs, case) if item.key.get("queue") == queue]
    return {key["program"]: those for key, those in grouped(own, ("program",))}


def _binned(t_s: np.ndarray, bps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over `BIN_S`; 10 ms in which nothing passed have no row, and count as nothing."""
    if not t_s.size:
        return t_s, bps
    place = np.floor(t_s / BIN_S).astype(int)
    sums = np.bincount(place - place.min(), weights=np.nan_to_num(bps))
    return (np.arange(sums.size) + place.min() + 0.5) * BIN_S, sums * 0.01 / BIN_S / 1e6


def felt(runs: Sequence[Observed]) -> Result:
    """Delay, freezes, likeness and lines of the first case, by queue and program."""
    name, title = "m1_felt", "A capacity that changes: what is felt, by queue (5.1)"
    every = of_case(runs, "m1_single")
    own = {queue: _by(runs, "m1_single", queue) for queue in QUEUES}
    queues = [queue for queue in QUEUES if own[queue]]
    if not queues:
        return Missing(name, title, "no run of it: narrows run m1_single")
    figure, grid = canvas(2, 2, row_in=1.5)
    cells = [axes for row in grid for axes in row]
    gaps: list[tuple[Axes, float]] = []
    with styled():
        for axes, (key, words) in zip(cells, FELT.items(), strict=True):
            for n, (program, colour) in enumerate(zip(sorted(PROGRAMS), COLOURS, strict=False)):
                for place, queue in enumerate(queues):
                    values = clean(item.of.figure("media1", key) for item in own[queue].get(program, ()))
                    if values.size:
                        scaled = float(np.median(values)) * (100 if words.endswith("[%]") else 1)
                        label = program if not place else None
                        axes.bar(place + 0.27 * (n - 1), scaled, 0.25, color=colour, label=label)
                    else:
                        gaps.append((axes, place + 0.27 * (n - 1)))
            axes.set_xticks(range(len(queues)), queues)
            axes.set_ylabel(words)
        tops = {axes: axes.get_ylim()[1] for axes in cells}
        for axes, at in gaps:
            axes.bar(at, tops[axes], 0.25, color="none", edgecolor="#cccccc", hatch="////", linewidth=0)
        handles, labels = cells[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper right", ncols=len(PROGRAMS))
    ids = run_ids(item.of for item in every)
    what = "Medians; 1, 2.5, 0.6 and 1 Mbit/s; 100 ms; hatched: not measured"
    caption = f"{what}. {count_runs(len(ids))}. {name_runs(ids)}"
    return Drawing(name, title, caption, ids, figure)
