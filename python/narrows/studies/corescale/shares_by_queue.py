"""What a queue makes of CCAs that meet: the share of one of them behind each kind of queue.

The thesis has drop-tail alone; here drop-tail with the scale's buffer stands beside every AQM that as many
flows were sent through.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from narrows import qdiscs
from narrows.comparing.conditions import queue_rank
from narrows.figures.drawing import Missing, Result, run_ids
from narrows.figures.style import PAGE_IN, canvas, queue_name, styled
from narrows.runs.flow_case import DROP_TAIL
from narrows.runs.observed import Observed
from narrows.studies.corescale.by_flows import COLOURS, MARKERS, mix_name, offset
from narrows.studies.corescale.case import Case, thesis_cases
from narrows.studies.drawing import finished

Panel = tuple[str, int, tuple[float, ...]]
"""Scale, number of flows, base RTTs in ms."""
Looks = dict[str, tuple[str, str]]
"""Colour and marker of each mix."""
TOLD = ("bbr", "cubic")
"""Whose share is drawn: of the two that meet, the one that is named first here."""

PER_FLOW = tuple(each.__name__ for each in qdiscs.every() if each.is_per_flow)


def shares_by_queue(runs: Sequence[Observed], name: str, title: str) -> Result:
    """A panel per scale, number of flows and base RTT where two CCAs met behind several queues."""
    panels: dict[Panel, dict[Case, list[Observed]]] = defaultdict(dict)
    for case, same in thesis_cases(runs).items():
        known = [run for run in same if run.many is not None and _told(case) in run.many.shares]
        is_like = case.queue not in DROP_TAIL or case.is_thesis  # but for its queue
        if known and case.is_usual and is_like:
            panels[case.scale, case.flows, case.rtts_ms][case] = known
    panels = {at: own for at, own in panels.items() if len({(c.queue, c.variant) for c in own}) > 1}
    if not panels:
        return Missing(name, title, "no two CCAs that met behind more than one queue")
    mixes = dict.fromkeys(mix_name(case) for own in panels.values() for case in own)
    looks = {mix: (COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]) for i, mix in enumerate(mixes)}
    figure, grid = canvas(len(panels), 1, PAGE_IN, row_in=2.1)
    with styled():
        for (axes,), ((scale, flows, rtts), own) in zip(grid, panels.items(), strict=True):
            _panel(axes, own, looks)
            axes.set_title(f"{scale}, {flows} flows, {'+'.join(f'{rtt:g}' for rtt in rtts)} ms")
        handles = [
            Line2D([], [], color=colour, marker=marker, markersize=4.5, linestyle="none", label=mix)
            for mix, (colour, marker) in looks.items()
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4))
    shown = [same for own in panels.values() for same in own.values()]
    ids = run_ids(run for same in shown for run in same)
    few, most = min(map(len, shown)), max(map(len, shown))
    told = (
        "Share of all that was delivered: BBR's, or CUBIC's against NewReno. Points: median over "
        "repetitions; bars: their range; dashed: as large as the part of the flows. Drop-tail has the "
        "scale's buffer. "
        f"{few if few == most else f'{few} to {most}'} per condition."
    )
    return finished(name, title, told, ids, figure)


def _panel(axes: Axes, own: dict[Case, list[Observed]], looks: Looks) -> None:
    queues = sorted({(case.queue, case.variant) for case in own}, key=_rank)
    for level in {case.count(_told(case)) / case.flows for case in own}:
        axes.axhline(100 * level, color="#4d4d4d", linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for case, same in own.items():
        shares = [100 * run.many.shares[_told(case)].share for run in same if run.many is not None]
        middle = float(np.median(shares))
        colour, marker = looks[mix_name(case)]
        beside = offset(list(looks).index(mix_name(case)), len(looks), step=0.1)
        axes.errorbar(
            queues.index((case.queue, case.variant)) + beside, middle,
            yerr=[[middle - min(shares)], [max(shares) - middle]],
            color=colour, marker=marker, markersize=4.5, linestyle="none", capsize=2, clip_on=False,
        )  # fmt: skip
    names = [
        "drop-tail" if queue in DROP_TAIL else f"{queue_name(queue)}\n{variant}".strip()
        for queue, variant in queues
    ]
    axes.set_xticks(range(len(queues)), names)
    axes.set_xlim(-0.5, len(queues) - 0.5)
    axes.set_ylim(0, 100)
    axes.set_ylabel("share (%)")


def _rank(queue: tuple[str, str]) -> tuple[bool, bool, tuple[int, str], str]:
    """Drop-tail first, then the AQMs of one queue, then those that have one for each flow."""
    kind, variant = queue
    return (kind not in DROP_TAIL, kind in PER_FLOW, queue_rank(kind), variant)


def _told(case: Case) -> str:
    return next((cca for cca in TOLD if cca in case.ccas), "") if len(case.ccas) == 2 else ""
