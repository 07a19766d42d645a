"""What the study's page draws: rates over time against the capacity, and what of a call is felt."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from narrows.figures.drawing import Missing, Result, run_ids
from narrows.figures.style import MARK_COLOUR, canvas, styled
from narrows.judging.parts import figure, grouped
from narrows.runs import phases
from narrows.runs.observed import Observed
from narrows.studies.drawing import COLOURS, Chart, draw, finished, of_items, under
from narrows.studies.media.claims.measures import of_case
from narrows.studies.media.testbed import PROGRAMS

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
    made: list[Callable[[], Result]] = []
    for case, title in CASES.items():
        made.append(partial(rates, runs, case, title))
    made.append(partial(felt, runs))
    return [(SECTION, make) for make in made]


def rates(runs: Sequence[Observed], case: str, title: str) -> Result:
    """What left the bottleneck of each flow, a panel for each program, and the capacity."""
    name = f"{case.partition('_')[0]}_rates"
    own = [one for one in of_case(runs, case) if one.key.get("queue") == "droptail" and one.of.truth("down")]
    shown = {key["program"]: those[0].of for key, those in grouped(own, ("program",))}
    if not shown:
        return Missing(name, title, f"no run of it whose series are here: narrows run {case}")
    drawing, grid = canvas(1, len(shown), row_in=1.8, sharey=True)
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
    told = (
        f"At the bottleneck's link layer, means of {BIN_S} s; drop-tail of 300 ms at the reference capacity."
    )
    return finished(name, title, told, run_ids(shown.values()), drawing)


def _binned(t_s: np.ndarray, bps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over `BIN_S`; 10 ms in which nothing passed have no row, and count as nothing."""
    if not t_s.size:
        return t_s, bps
    place = np.floor(t_s / BIN_S).astype(int)
    sums = np.bincount(place - place.min(), weights=np.nan_to_num(bps))
    return (np.arange(sums.size) + place.min() + 0.5) * BIN_S, sums * 0.01 / BIN_S / 1e6


def felt(runs: Sequence[Observed]) -> Result:
    """Delay, freezes, likeness and lines of the first case, by queue and program."""
    own = of_case(runs, "m1_single")
    points = [
        point
        for key, words in FELT.items()
        for point in under(
            of_items(
                own, figure("media1", key), ("program", "queue"), 0.01 if words.endswith("[%]") else 1.0
            ),
            what=words,
        )
    ]
    chart = Chart(
        "m1_felt", "A capacity that changes: what is felt, by queue (5.1)", ("queue",), hue="program",
        panel="what", orders={"queue": QUEUES, "program": tuple(sorted(PROGRAMS))}, columns=2,
        told="Medians; 1, 2.5, 0.6 and 1 Mbit/s; 100 ms.", missing="no run of it: narrows run m1_single",
    )  # fmt: skip
    return draw(chart, points, [run_id for item in own for run_id in item.run_ids])
