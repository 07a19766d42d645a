"""The conditions of an experiment side by side: who got what, throughput, latency under load and RPM on one
sheet. It draws what `narrows.comparing.outcome` found, which the words of a report use as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from narrows.comparing.outcome import (
    DONE,
    MET,
    OF_DONE,
    RATE,
    SHARE,
    WHOLE,
    Measure,
    Outcome,
    outcome,
    own_said,
    separating,
)
from narrows.comparing.words import condition_name, with_interval
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import DIRECTION, PAGE_IN, TITLE_CHARACTERS, canvas, styled
from narrows.runs.observed import Observed

MOST_PANELS = 6
MOST_COLUMNS = 3
MOST_ROWS = 36
"""Conditions on one sheet; with more, runs that differ in the axes that separate least are one row."""
MOST_WRITTEN = 16
"""Rows that have room for their numbers."""
LOG_FROM = 8.0
"""A panel whose largest median is so many times its smallest has a logarithmic axis."""
INCHES_A_ROW, INCHES_A_BARE_ROW = 0.3, 0.19
_OF_LINK = {
    ("", "down"): ("#0072b2", "o", "download"),
    ("", "up"): ("#d55e00", "s", "upload"),
    ("", WHOLE): ("#333333", "D", ""),
}
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d")
_MARKS = ("o", "s", "D")


@dataclass(frozen=True)
class _Panel:
    """Measures of one unit; each has a colour and a mark."""

    title: str
    measures: tuple[Measure, ...]


def draw(runs: Sequence[Observed], name: str, title: str) -> Result:
    """A row for each condition, a panel for each quantity; what each item got one above the other."""
    every = outcome(runs)
    if every is None:
        return Missing(name, title, "no run here has a speed test or a load whose rate is known")
    shown = _fewer(every)
    panels = _panels(shown)[:MOST_PANELS]
    looks = _looks(shown)
    rows, most = len(shown.keys), max(len(panel.measures) for panel in panels)
    inches = INCHES_A_ROW * max(1.0, most / 2) if rows <= MOST_WRITTEN else INCHES_A_BARE_ROW
    columns = min(len(panels), MOST_COLUMNS)
    lines = -(-len(panels) // columns)
    figure, grid = canvas(lines, columns, PAGE_IN, inches * rows + 0.7, sharey=True)
    names = [condition_name(shown.axes, key) or "all runs" for key in shown.keys]
    with styled():
        places = [axes for line in grid for axes in line]
        for axes, panel in zip(places, panels, strict=False):
            _draw_panel(axes, shown, panel, looks)
        for axes in places[len(panels) :]:
            axes.remove()
        for line in grid:
            line[0].set_yticks(range(rows), names)
        grid[0][0].set_ylim(rows - 0.5, -0.5)
        _legend(figure, panels, looks)
    pooled = [axis for axis in every.axes if axis not in shown.axes]
    sources = dict.fromkeys(_capital(m.source) for panel in panels for m in panel.measures if m.source)
    caption = (
        f"{len(every.keys)} condition{'s' if len(every.keys) != 1 else ''} side by side, "
        f"{count_runs(len(every.runs))}. Marks are medians over the runs, small dots the runs; "
        "thick lines, and brackets beside the median, are the median's 95 % interval by order statistics "
        "(none with fewer than six runs). "
        + "".join(f"{source}. " for source in (*sources, *([_capital(OF_DONE)] if shown.has_done else [])))
        + (f"To fit one sheet, runs that differ in {', '.join(pooled)} are one row here. " if pooled else "")
    )
    return Drawing(name, title, f"{caption}{name_runs(run_ids(every.runs))}", run_ids(every.runs), figure)


def _fewer(every: Outcome) -> Outcome:
    """The same with as many axes as fit on one sheet."""
    shown, axes = every, list(every.axes)
    while len(shown.keys) > MOST_ROWS and len(axes) > 1:
        order = [[axis.name for axis in separating(each, shown.axes)] for each in shown.measures]
        last = max(axes, key=lambda axis: sum(each.index(axis) for each in order))
        axes.remove(last)
        shown = every.by(axes)
    return shown


def _panels(every: Outcome) -> list[_Panel]:
    """What all items have in one panel each, then the first items' own figures; then the link's."""
    found = []
    for kind in (RATE, SHARE, MET):
        own = tuple(m for whose in every.items for m in every.of_item(whose, kind))
        if any(m.values for m in own):
            found.append(_Panel(_capital(own[0].words), own))
    for whose in every.items:
        found += [_Panel(f"{whose}: {m.words}", (m,)) for m in own_said(every, whose, every.keys)]
    of_link = [
        _Panel(_capital(words), tuple(m for m in every.link if m.words == words))
        for words in dict.fromkeys(m.words for m in every.link)
    ]
    tested = any(run.tested for run in every.runs)
    return [*of_link, *found] if tested else [*found, *of_link]


def _looks(every: Outcome) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Colour, mark and name by item and direction: of the link's by direction."""
    looks = dict(_OF_LINK)
    places = [(m.whose, m.direction) for m in every.measures if m.whose and m.kind == RATE]
    for n, (whose, way) in enumerate(dict.fromkeys(places)):
        colour, mark = _COLOURS[n % len(_COLOURS)], _MARKS[n // len(_COLOURS) % len(_MARKS)]
        both = len({each for name, each in places if name == whose}) > 1
        looks[whose, way] = (colour, mark, f"{whose}, {DIRECTION[way]}" if both else whose)
        looks.setdefault((whose, WHOLE), (colour, mark, whose))
    return looks


def _draw_panel(
    axes: Axes, shown: Outcome, panel: _Panel, looks: dict[tuple[str, str], tuple[str, str, str]]
) -> None:
    written = len(shown.keys) <= MOST_WRITTEN
    medians, own = [], panel.measures
    for place, measure in enumerate(own):
        colour, mark, _ = looks.get((measure.whose, measure.direction), _OF_LINK["", WHOLE])
        shift = 0.0 if len(own) == 1 else 0.6 * place / (len(own) - 1) - 0.3
        for row, key in enumerate(shown.keys):
            if key in measure.done and written:
                axes.text(
                    1.02, row + shift, DONE, transform=axes.get_yaxis_transform(),
                    fontsize=6, color=colour, va="center",
                )  # fmt: skip
            if key not in measure.values:
                continue
            points, of, y = measure.values[key], measure.of(key), row + shift
            assert of.median is not None
            medians.append(of.median)
            axes.plot(points, [y] * len(points), ".", color=colour, alpha=0.35, markersize=3, linewidth=0)
            if of.median_interval:
                ends = [of.median_interval.low, of.median_interval.high]
                axes.plot(ends, [y, y], color=colour, linewidth=2.2, solid_capstyle="butt")
            axes.plot([of.median], [y], mark, color=colour, markersize=4, clip_on=False)
            if written:
                axes.annotate(
                    with_interval(of), (1.02, y), xycoords=("axes fraction", "data"),
                    fontsize=6, color=colour, va="center", annotation_clip=False,
                )  # fmt: skip
    if min(medians) > 0 and max(medians) / min(medians) >= LOG_FROM:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)
    if own[0].kind == SHARE:
        axes.axvline(100, color="#888888", linewidth=0.8, linestyle=":")
    is_rpm = own[0].unit == "1/min" and own[0].figure.startswith("rpm")
    unit = "round trips/min" if is_rpm else "index" if own[0].unit == "1" else own[0].unit
    better = f"{own[0].better} is better" if own[0].better and own[0].kind not in (RATE, SHARE) else ""
    axes.set_xlabel(", ".join(filter(None, (unit, better))))
    axes.set_title("\n".join(wrap(panel.title, TITLE_CHARACTERS // MOST_COLUMNS)))
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0)


def _legend(
    figure: Figure, panels: Sequence[_Panel], looks: dict[tuple[str, str], tuple[str, str, str]]
) -> None:
    there = dict.fromkeys((m.whose, m.direction) for panel in panels for m in panel.measures)
    known = dict.fromkeys(looks[each] for each in there if each in looks)
    handles = [
        Line2D([], [], color=colour, marker=mark, markersize=4, linewidth=2.2, label=name)
        for colour, mark, name in known
        if name
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4) or 1)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
