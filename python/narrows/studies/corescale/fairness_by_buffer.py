"""What BBR's fairness to itself hangs on: Jain's index against the buffer in bandwidth-delay products.

Claim T5 is contested, and testbeds differ in just that; every condition of BBR flows alone with one base
RTT and a drop-tail queue is a point.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from narrows.figures.drawing import Missing, Result, run_ids
from narrows.figures.style import MARK_COLOUR, PAGE_IN, panel_columns, panels_of, styled
from narrows.runs.flow_case import EXACT
from narrows.runs.observed import Observed
from narrows.studies.corescale.by_flows import COLOURS
from narrows.studies.corescale.case import BUFFER_BYTES, SCALES, Case, thesis_cases
from narrows.studies.drawing import finished

BITS = 8
OTHERS: tuple[tuple[str, str, Callable[[Case], bool]], ...] = (
    ("only the buffer differs", "o", lambda case: True),
    ("starts together", "^", lambda case: case.start == "together"),
    ("offloads on", "s", lambda case: case.offloads == "on"),
    ("late timers", "D", lambda case: case.timers != EXACT),
    ("another kernel", "P", lambda case: bool(case.kernel)),
    ("path or hosts otherwise", "v", lambda case: bool(case.besides)),
)
"""What a marker says; the last that fits counts."""


def buffer_in_bdp(case: Case) -> float | None:
    """The queue's limit over rate × base RTT; None where the limit or the RTT is not one number."""
    rates = {scale: rate for rate, scale in SCALES.items()}
    if case.buffer is None or case.scale not in rates or len(case.rtts_ms) != 1 or not case.rtts_ms[0]:
        return None
    return case.buffer * BUFFER_BYTES[case.scale] * BITS / (rates[case.scale] * case.rtts_ms[0] / 1e3)


def fairness_by_buffer(runs: Sequence[Observed], name: str, title: str) -> Result:
    """A panel per scale and number of flows, where there is more than one buffer."""
    points = {}
    for case, same in thesis_cases(runs).items():
        found = [run.many.jain for run in same if run.many is not None and run.many.jain is not None]
        at = buffer_in_bdp(case)
        if case.ccas == ("bbr",) and at is not None and found:
            points[case] = (at, found, same)
    buffers: dict[tuple[str, int], set[float]] = defaultdict(set)
    for case, (at, _, _) in points.items():
        buffers[case.scale, case.flows].add(at)
    panels = [panel for panel, several in buffers.items() if len(several) > 1]
    points = {case: point for case, point in points.items() if (case.scale, case.flows) in panels}
    if not panels:
        return Missing(
            name, title, "no run of BBR flows alone, or none of as many flows with another buffer in BDPs"
        )
    rtts = sorted({case.rtts_ms[0] for case in points})
    colours = {rtt: COLOURS[i % len(COLOURS)] for i, rtt in enumerate(rtts)}
    used = {_other(case) for case in points}
    titles = [f"{scale}, {flows} flows" for scale, flows in panels]
    columns = panel_columns(titles)
    high = 2.9 if len(panels) <= columns else 2.1
    figure, cells = panels_of(len(panels), columns, PAGE_IN, high, sharex=True, sharey=True)
    with styled():
        for axes, title_of, (scale, flows) in zip(cells, titles, panels, strict=True):
            axes.axvline(1, color=MARK_COLOUR, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
            for case, (at, found, _) in points.items():
                if (case.scale, case.flows) == (scale, flows):
                    middle = float(np.median(found))
                    axes.errorbar(
                        at, middle, yerr=[[middle - min(found)], [max(found) - middle]], capsize=2,
                        color=colours[case.rtts_ms[0]], marker=OTHERS[_other(case)][1], markersize=4.5,
                        linestyle="none", fillstyle="full" if _other(case) == 0 else "none",
                    )  # fmt: skip
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.set_title(title_of)
            axes.set_ylim(0, 1.04)
        for axes in cells[::columns]:
            axes.set_ylabel("Jain's index")
        for axes in cells[-columns:]:
            axes.set_xlabel("buffer (base BDP)")
            axes.tick_params(labelbottom=True)
        handles = [
            Line2D([], [], color=colours[rtt], linestyle="-", label=f"{rtt:g} ms") for rtt in rtts
        ] + [
            Line2D([], [], color="black", marker=OTHERS[i][1], markersize=4.5, linestyle="none",
                   fillstyle="full" if i == 0 else "none", label=OTHERS[i][0])
            for i in sorted(used)
        ]  # fmt: skip
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
    ids = run_ids(run for _, _, same in points.values() for run in same)
    counts = [len(found) for _, found, _ in points.values()]
    each = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    told = (
        "Jain's index of BBR flows among themselves by the bottleneck's buffer over rate × base RTT. Points: "
        "median over repetitions; bars: their range; open markers: something else than the buffer differs "
        f"from the thesis; red: one BDP. {each} per condition."
    )
    return finished(name, title, told, ids, figure)


def _other(case: Case) -> int:
    return max(number for number, (_, _, fits) in enumerate(OTHERS) if fits(case))
