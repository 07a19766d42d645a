"""The evidence as pictures: what each packet waited, and which were lost or marked."""

import numpy as np
from matplotlib.axes import Axes

from narrows.figures import style
from narrows.figures.drawing import Drawing
from narrows.tools.identify.records import FlowRecords, Phase, Report

MOST_POINTS = 6000
NAMES = {
    "fill": ("one flow at 1.6 times the rate",),
    "gentle": ("A, beyond its share", "B, below it", "sparse", "all code points"),
    "ecn": ("not ECT", "ECT(1)", "sparse"),
    "tins": ("best effort", "CS1"),
}
TITLES = {
    "fill": "Fill: the rate, the buffer, and where in the queue is dropped",
    "gentle": "Gentle overload: whose packets wait, and at which delay is dropped",
    "ecn": "ECN: does ECT(1) wait with the rest?",
    "tins": "Best effort beside CS1, both beyond their share",
    "many": "128 equal flows: do any share a queue?",
}
COLOURS = style.ITEMS
LOST = style.MARK_COLOUR


def pictures(report: Report, way: str) -> list[Drawing]:
    """One of each phase of a way that has something to show."""
    found = []
    for name, title in TITLES.items():
        phase = report.of(way, name)
        if phase is None:
            continue
        figure, grid = style.canvas(row_in=2.3)
        with style.styled():
            (_many if name == "many" else _delays)(grid[0][0], phase)
        found.append(Drawing(f"{way}-{name}", title, "", (), figure))
    return found


def _thin(count: int) -> slice:
    return slice(None, None, max(1, count // MOST_POINTS))


def _delays(axes: Axes, phase: Phase) -> None:
    for n, (flow, label) in enumerate(zip(phase.flows, NAMES[phase.name], strict=False)):
        _one(axes, flow, label, COLOURS[n % len(COLOURS)])
    axes.set_xlabel("sent, s since the phase began")
    axes.set_ylabel("delay above the smallest, ms")
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, markerscale=3)


def _one(axes: Axes, flow: FlowRecords, label: str, colour: str) -> None:
    thin = _thin(len(flow.sent_s))
    axes.plot(
        flow.sent_s[thin], flow.delay_s[thin] * 1e3, ".", ms=1.6, color=colour, label=label, rasterized=True
    )
    there = ~flow.lost
    if not there.any() or not len(flow.sent_s):
        return
    at = np.interp(flow.sent_s, flow.sent_s[there], flow.delay_s[there])
    for hit, mark, words in ((flow.lost, "x", "lost"), (flow.marked, "+", "marked CE")):
        if hit.any():
            some = _thin(int(hit.sum()))
            axes.plot(
                flow.sent_s[hit][some],
                at[hit][some] * 1e3,
                mark,
                ms=3.5,
                mew=0.7,
                color=LOST if mark == "x" else colour,
                label=f"{label}: {int(hit.sum())} {words}",
                alpha=0.6,
                rasterized=True,
            )


def _many(axes: Axes, phase: Phase) -> None:
    end = max(float(flow.sent_s[-1]) for flow in phase.flows if len(flow.sent_s))
    got = np.array([int(((f.arrived_s > 0.4 * end) & (f.arrived_s <= end)).sum()) for f in phase.flows])
    axes.bar(np.arange(len(got)), np.sort(got), width=1.0, color=COLOURS[0])
    axes.axhline(0.7 * float(np.median(got)), color=COLOURS[1], lw=1, label="0.7 of the median")
    axes.set_xlabel("flow, the least served first")
    axes.set_ylabel("packets while all send")
    axes.legend(frameon=False)
