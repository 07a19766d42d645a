"""A figure by the number of flows: a panel per scale, a point with its range over repetitions per condition.

The thesis' own numbers are lines. Conditions are read from plans (`narrows.studies.corescale.case`): other
RTTs, buffers, queues, starts and offloads have lines of their own. A condition far from rest at the end of
its runs is pale: its number says how long they lasted, too. Where the number itself is not followed over time
(Mathis' constant, losses, burstiness), Jain's index tells.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import MARK_COLOUR, PAGE_IN, canvas, corner, styled
from narrows.judging.parts import Read
from narrows.metrics.statistics.settled import TOLERANCE
from narrows.runs.many_flows import ManyFlows, Settled
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import Case
from narrows.units import NS_PER_S

Cases = dict[Case, list[Observed]]
Values = dict[str, list[float]]
"""Values of the runs of one condition, by the figure's line."""

CCA_NAMES = {"reno": "NewReno", "cubic": "CUBIC", "bbr": "BBR"}
LEGEND_CHARACTERS = 130
MOST_SERIES = 8
Stroke = Literal["-", ":", "-."]
Fill = Literal["full", "left", "none"]
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#7a1f5c")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
STYLES: tuple[tuple[Stroke, Fill], ...] = (("-", "full"), (":", "none"), ("-.", "left"))
"""Line style and filling of the marker, of a figure's first, second and third line."""
LEGEND_ROW_IN = 0.16
PALE = 0.4
"""Opacity of what was far from rest."""
FAR_FROM_REST = 0.05
"""What still moved by this share shows in a figure; settled is less than `TOLERANCE`."""


@dataclass(frozen=True)
class Line:
    """One quantity of a figure: its name in the legend, and its value of a run."""

    name: str
    read: Read


@dataclass(frozen=True)
class End:
    """How a run ended: what tells whether it was at rest, in words, and how much that still moved."""

    name: str
    of: Callable[[ManyFlows], Settled | None]


@dataclass(frozen=True)
class Figure:
    """What a figure shows. `thesis` are the levels it is to be compared with, by scale."""

    name: str
    title: str
    what: str
    y_label: str
    wanted: Callable[[Case], bool]
    lines: tuple[Line, ...]
    thesis: dict[str, tuple[float, ...]]
    top: float | None = None
    by_mix: bool = False
    """Each mix of CCAs has panels of its own."""
    end: End | None = None
    """By the number that is drawn, or by Jain's index; None: nothing is said of that."""


def draw(figure: Figure, by_case: Cases) -> Result:
    """One figure of all conditions that it wants."""
    chosen = {case: same for case, same in by_case.items() if figure.wanted(case)}
    points = {case: _values(figure, same) for case, same in chosen.items()}
    points = {case: values for case, values in points.items() if any(values.values())}
    points, left_out = _few(points)
    if not points:
        return Missing(
            figure.name, figure.title, "no run here has these flows, or its tables hold no such number"
        )
    scales = list(dict.fromkeys(case.scale for case in points))
    mixes = (
        sorted({mix_name(case) for case in points}, key=lambda mix: (mix.count("+"), mix))
        if figure.by_mix
        else [None]
    )
    looks = _looks(points)
    repetitions = {len(found) for values in points.values() for found in values.values() if found}
    mark_alone = 1 in repetitions and len(repetitions) > 1
    ends: dict[Case, list[Settled | None]] = {}
    if (end := figure.end) is not None:
        ends = {case: [end.of(run.many) for run in chosen[case] if run.many is not None] for case in points}
    moved = {case: _moved(each) for case, each in ends.items()}
    pale = {case for case, share in moved.items() if share >= FAR_FROM_REST}
    handles = _legend(figure, looks, {name for v in points.values() for name, found in v.items() if found})
    if mark_alone:
        handles.append(
            Line2D([], [], color="black", marker="o", markersize=4.5, markerfacecolor="white",
                   markeredgewidth=1.3, linestyle="none", label="dot: one run")
        )  # fmt: skip
    if pale:
        handles.append(
            Line2D([], [], color="black", marker="o", markersize=4.5, linestyle="none", alpha=PALE,
                   markeredgecolor="none", label="pale: far from rest")
        )  # fmt: skip
    columns = max(1, min(5, LEGEND_CHARACTERS // (max(len(str(h.get_label())) for h in handles) + 8)))
    rows = -(-len(handles) // columns)
    high = 2.3 if len(mixes) == 1 else 1.25
    drawing, grid = canvas(
        len(mixes), len(scales), PAGE_IN, row_in=high + LEGEND_ROW_IN * rows / len(mixes), sharey=True
    )
    with styled():
        for row, mix in zip(grid, mixes, strict=True):
            for axes, scale in zip(row, scales, strict=True):
                own = {case: v for case, v in points.items() if case.scale == scale}
                own = {case: v for case, v in own.items() if mix in (None, mix_name(case))}
                if not own:
                    axes.set_axis_off()
                    continue
                _panel(axes, figure, own, looks, mark_alone, pale)
                axes.set_title(scale if mix is None else f"{mix}, {scale}")
            row[0].set_ylabel(figure.y_label)
            if len(mixes) > 1:
                row[0].locator_params(axis="y", nbins=3)
        for axes in grid[-1]:
            axes.set_xlabel("flows")
        if figure.top is not None:
            grid[0][0].set_ylim(0, figure.top)
        elif "index" not in figure.y_label:
            grid[0][0].set_ylim(0, grid[0][0].get_ylim()[1] * 1.05)
        drawing.legend(handles=handles, loc="outside lower center", ncols=columns)
        if any(scale in figure.thesis for scale in scales):
            corner(grid[0][-1], "red: the thesis' numbers")
    shown = [run for case in points for run in chosen[case]]
    ids = run_ids(shown)
    counts = [len(chosen[case]) for case in points]
    each = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    seconds = sorted({round(run.many.seconds) for run in shown if run.many is not None})
    span = f"{seconds[0]}" if len(seconds) == 1 else f"{seconds[0]} to {seconds[-1]}"
    caption = (
        f"{figure.what}, by base RTT. Points: median over repetitions; bars: their range. "
        f"{count_runs(len(ids))}, {each} per condition, {span} s measured after the warm-up. {name_runs(ids)}"
    )
    if figure.end is not None:
        still = sum(share < TOLERANCE for share in moved.values())
        lasts = sorted({end.over_ns // NS_PER_S for each in ends.values() for end in each if end is not None})
        last = " to ".join(f"{s}" for s in dict.fromkeys((lasts[0], lasts[-1]))) if lasts else "?"
        caption += (
            f" {still} of {len(moved)} conditions had settled ({figure.end.name} moved by less than "
            f"{100 * TOLERANCE:g} % in the last {last} s of a run, median over repetitions)"
            + (f"; pale: it moved by {100 * FAR_FROM_REST:g} % or more." if pale else ".")
        )
    if left_out:
        caption += f" {left_out} conditions that are not the thesis' are left out."
    return Drawing(figure.name, figure.title, caption, ids, drawing)


def _moved(ends: Sequence[Settled | None]) -> float:
    """By which share of its last value a metric still moved at the end of a condition's runs, their median;
    infinite where a run does not say."""
    return float(np.median([np.inf if end is None or end.moved is None else end.moved for end in ends]))


def _few(points: dict[Case, Values]) -> tuple[dict[Case, Values], int]:
    """Where there are more series than eyes can follow, only the thesis' conditions; how many others there
    are."""
    thesis = {case: values for case, values in points.items() if case.is_thesis}
    if not thesis or len({_series(case) for case in points}) <= MOST_SERIES:
        return points, 0
    return thesis, len(points) - len(thesis)


def _values(figure: Figure, same: Sequence[Observed]) -> Values:
    values: Values = {}
    for line in figure.lines:
        values[line.name] = [value for run in same if (value := line.read(run)) is not None]
    return values


def mix_name(case: Case) -> str:
    """Which CCAs meet; one BBR flow among others is a case of its own."""
    names = [CCA_NAMES.get(cca, cca) for cca in case.ccas]
    if "bbr" in case.ccas and case.count("bbr") == 1 and len(case.ccas) > 1:
        names[case.ccas.index("bbr")] = "one BBR flow"
    return " + ".join(names)


def _series(case: Case) -> str:
    """What tells lines of one panel apart: RTT, and whatever is not the thesis' condition."""
    return ", ".join([case.rtt, *case.words().split(", ")[3:]])


def _looks(points: Iterable[Case]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each series; shorter RTTs first."""
    by_rtt = sorted(points, key=lambda case: (len(case.rtts_ms), case.rtts_ms))
    names = list(dict.fromkeys(_series(case) for case in by_rtt))
    return {name: (COLOURS[at % len(COLOURS)], MARKERS[at % len(MARKERS)]) for at, name in enumerate(names)}


def _panel(
    axes: Axes,
    figure: Figure,
    points: dict[Case, Values],
    looks: dict[str, tuple[str, str]],
    mark_alone: bool,
    pale: set[Case],
) -> None:
    """`mark_alone`: a dot in the points of one run, whose lack of a bar would look like certainty."""
    counts = sorted({case.flows for case in points})
    own = [name for name in looks if any(_series(case) == name for case in points)]
    for level in figure.thesis.get(next(iter(points)).scale, ()):
        axes.axhline(level, color=MARK_COLOUR, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    for number, name in enumerate(own):
        colour, marker = looks[name]
        for (style, fill), line in zip(STYLES, figure.lines, strict=False):
            joined: list[tuple[float, float]] = []
            for case, values in sorted(points.items(), key=lambda each: each[0].flows):
                found = values[line.name]
                if _series(case) != name or not found:
                    continue
                at = counts.index(case.flows) + offset(number, len(own))
                middle = float(np.median(found))
                joined.append((at, middle))
                spread = [[middle - min(found)], [max(found) - middle]]
                ranges = spread if any(map(any, spread)) else None  # caps of nothing would fill open markers
                if case in pale:  # else the line shows through it
                    axes.plot(at, middle, marker, color="white", markersize=4.5, zorder=1.8)
                axes.errorbar(
                    at, middle, yerr=ranges,
                    color=colour, marker=marker, markersize=4.5, capsize=2, fillstyle=fill,
                    alpha=PALE if case in pale else None,
                )  # fmt: skip
                if len(found) == 1 and mark_alone:
                    dot = colour if fill == "none" else "white"
                    axes.plot(at, middle, ".", color=dot, markersize=2.5, zorder=5)
            if joined:
                axes.plot(*zip(*joined, strict=True), color=colour, linestyle=style, zorder=1.5)
    axes.set_xticks(range(len(counts)), [str(count) for count in counts])
    axes.set_xlim(-0.5, len(counts) - 0.5)


def offset(number: int, of: int, step: float = 0.05) -> float:
    """Where one of several points at the same place stands beside it, in places."""
    return 0.0 if of < 2 else min(step * of, 0.5) * (number / (of - 1) - 0.5)


def _legend(figure: Figure, looks: dict[str, tuple[str, str]], drawn: set[str]) -> list[Line2D]:
    """One entry per series, and one in black per line that is drawn where the figure has several."""
    handles = [
        Line2D([], [], color=colour, marker=marker, markersize=4.5, label=name)
        for name, (colour, marker) in looks.items()
    ]
    if len(figure.lines) > 1:
        handles += [
            Line2D([], [], color="black", marker="o", markersize=4.5, linestyle=style, fillstyle=fill,
                   label=line.name)
            for (style, fill), line in zip(STYLES, figure.lines, strict=False)
            if line.name in drawn
        ]  # fmt: skip
    return handles
