"""The conditions of an experiment side by side: a row for each condition, a panel for each quantity, all
items in it. It draws what `narrows.comparing.outcome` found, which the table of a report shows as well."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten, wrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from narrows.comparing.conditions import rank
from narrows.comparing.outcome import (
    DONE,
    LINK,
    MET,
    OF_DONE,
    RATE,
    SHARE,
    Key,
    Measure,
    Outcome,
    outcome,
    separating,
)
from narrows.comparing.words import condition_name, with_interval
from narrows.figures.chosen import chosen
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs, run_ids
from narrows.figures.style import DIRECTION, INK, ITEMS, PAGE_IN, item_colours, legend, panels_of, styled
from narrows.runs.observed import Observed

MOST_PANELS = 6
COLUMNS = 2
MOST_ROWS = 36
"""Conditions on one sheet; with more, runs that differ in the axes that separate least are one row."""
MOST_WRITTEN = 16
"""Rows that have room for their numbers."""
LOG_FROM, DECADES_FROM = 8.0, 100.0
"""A panel whose largest median is so many times its smallest has a logarithmic axis; then decades alone."""
INCHES_A_ROW, INCHES_A_BARE_ROW = 0.34, 0.19
WITHIN_A_ROW = 0.8
"""So much of a row its marks take, that they stand nearer to one another than to the next row's."""
NAME_CHARACTERS, NAME_LINES, TITLE_CHARACTERS = 20, 2, 28
MARKS = {"down": "o", "up": "s"}


@dataclass(frozen=True)
class _Series:
    """One mark in every row: its name and colour, the measure, and its label on the axis that is compared."""

    name: str
    colour: str
    measure: Measure
    label: str | None = None


@dataclass(frozen=True)
class _Panel:
    """Series of one unit."""

    title: str
    series: tuple[_Series, ...]


@dataclass(frozen=True)
class _Rows:
    """The rows of all panels: conditions, without the axis whose labels stand side by side in one."""

    axes: tuple[str, ...]
    keys: tuple[Key, ...]
    compared: int | None

    def key(self, row: Key, series: _Series) -> Key:
        """The condition of a series in a row."""
        at = self.compared
        return row if at is None or series.label is None else (*row[:at], series.label, *row[at:])


def draw(runs: Sequence[Observed], name: str, title: str, compared: str = "") -> Result:
    """A row for each condition, a panel for each quantity; what each item got one above the other. Labels of
    the axis `compared` stand in one row, each in its colour, if they are not too many."""
    every = outcome(runs)
    if every is None:
        return Missing(name, title, "no run here has a speed test or a load whose rate is known")
    shown = fewer(every, MOST_ROWS)
    at = shown.axes.index(compared) if compared in shown.axes else None
    texts = [] if at is None else list(dict.fromkeys(key[at] for key in shown.keys))
    if at is None or not 1 < len(texts) <= len(ITEMS):
        rows = _Rows(shown.axes, shown.keys, None)
        panels = _panels(shown, item_colours(every.runs))
    else:
        keys = dict.fromkeys((*key[:at], *key[at + 1 :]) for key in shown.keys)
        rows = _Rows((*shown.axes[:at], *shown.axes[at + 1 :]), tuple(keys), at)
        panels = _compared(shown, compared, sorted(texts, key=lambda text: rank(compared, text)))
    panels = panels[:MOST_PANELS]
    count, most = len(rows.keys), max(len(panel.series) for panel in panels)
    inches = INCHES_A_ROW * max(1.0, most / 2) if count <= MOST_WRITTEN else INCHES_A_BARE_ROW
    columns = min(len(panels), COLUMNS)
    figure, places = panels_of(len(panels), columns, PAGE_IN * columns / COLUMNS, inches * count + 0.75)
    names = [_name(condition_name(rows.axes, key), count <= MOST_WRITTEN) for key in rows.keys]
    with styled():
        for axes, panel in zip(places, panels, strict=True):
            _draw_panel(axes, rows, panel)
            axes.set_yticks(range(count), names)
            axes.set_ylim(count - 0.5, -0.5)
        _legend(figure, panels)
    pooled = [axis for axis in every.axes if axis not in shown.axes]
    sources = dict.fromkeys(
        _capital(m.source) for panel in panels for one in panel.series if (m := one.measure).source
    )
    caption = (
        f"{len(every.keys)} condition{'s' if len(every.keys) != 1 else ''} side by side, "
        f"{count_runs(len(every.runs))}. Marks are medians over the runs, small dots the runs; "
        "thick lines, and brackets beside the median, are the median's 95 % interval by order statistics "
        "(none with fewer than six runs); –: not measured. "
        + "".join(f"{source}. " for source in (*sources, *([_capital(OF_DONE)] if shown.has_done else [])))
        + (f"To fit one sheet, runs that differ in {', '.join(pooled)} are one row here. " if pooled else "")
    )
    return Drawing(name, title, f"{caption}{name_runs(run_ids(every.runs))}", run_ids(every.runs), figure)


def fewer(every: Outcome, most: int) -> Outcome:
    """The same with so few axes that no more conditions remain: those stay that separate most."""
    shown, axes = every, list(every.axes)
    while len(shown.keys) > most and len(axes) > 1:
        order = [[axis.name for axis in separating(each, shown.axes)] for each in shown.measures]
        last = max(axes, key=lambda axis: sum(each.index(axis) for each in order))
        axes.remove(last)
        shown = every.by(axes)
    return shown


def _panels(every: Outcome, colours: dict[str, str]) -> list[_Panel]:
    """What is told first; what all items have in one panel."""
    found: dict[str, list[_Series]] = {}
    for whose, measure in chosen(every):
        of_all = measure.kind in (RATE, SHARE, MET, LINK)
        title = _capital(measure.words) if of_all or not whose else f"{whose}: {measure.words}"
        # Of a second equal service the first one's colour would not tell them apart.
        found.setdefault(title, []).append(_Series(whose, colours.get(whose, INK), measure))
    return [_Panel(title, tuple(own)) for title, own in found.items()]


def _compared(every: Outcome, axis: str, texts: Sequence[str]) -> list[_Panel]:
    """The same where labels are compared: a panel for each figure of each item."""
    return [
        _Panel(
            f"{whose}: {measure.words}" if whose else _capital(measure.words),
            tuple(
                _Series(condition_name([axis], [text]), ITEMS[n], measure, text)
                for n, text in enumerate(texts)
            ),
        )
        for whose, measure in chosen(every)
    ]


def _name(condition: str, has_room: bool) -> str:
    """A condition's name beside its row."""
    if not has_room:
        return shorten(condition, 2 * NAME_CHARACTERS, placeholder=" …") or "all runs"
    lines = wrap(condition, NAME_CHARACTERS, max_lines=NAME_LINES, placeholder=" …")
    return "\n".join(lines) or "all runs"


def _draw_panel(axes: Axes, rows: _Rows, panel: _Panel) -> None:
    written = len(rows.keys) <= MOST_WRITTEN
    medians, own = [], [series.measure for series in panel.series]
    for place, series in enumerate(panel.series):
        measure, colour, mark = series.measure, series.colour, MARKS.get(series.measure.direction, "D")
        shift = (place - (len(own) - 1) / 2) * WITHIN_A_ROW / len(own)
        for row, labels in enumerate(rows.keys):
            key, y = rows.key(labels, series), row + shift
            if key not in measure.values:
                if written:
                    words = DONE if key in measure.done else "–"
                    axes.text(1.02, y, words, transform=axes.get_yaxis_transform(), color=colour, va="center")
                continue
            points, of = measure.values[key], measure.of(key)
            assert of.median is not None
            medians.append(of.median)
            axes.plot(points, [y] * len(points), ".", color=colour, alpha=0.35, markersize=3, linewidth=0)
            if of.median_interval:
                ends = [of.median_interval.low, of.median_interval.high]
                axes.plot(ends, [y, y], color=colour, linewidth=2.2, solid_capstyle="butt")
            axes.plot([of.median], [y], mark, color=colour, markersize=4, clip_on=False)
            if written:
                axes.annotate(
                    with_interval(of), (1.02, y), xycoords=("axes fraction", "data"), color=colour,
                    va="center", annotation_clip=False,
                )  # fmt: skip
    if medians and min(medians) > 0 and max(medians) / min(medians) >= LOG_FROM:
        axes.set_xscale("log")
        is_wide = max(medians) / min(medians) >= (DECADES_FROM if written else DECADES_FROM / 4)
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if is_wide else (1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, None if any(medians) else 1)
        counts = all(value == int(value) for value in medians)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=counts and max(medians, default=0) < 5))
    if own[0].kind == SHARE:
        axes.axvline(100, color="#888888", linewidth=0.8, linestyle=":")
    is_rpm = own[0].unit == "1/min" and own[0].figure.startswith("rpm")
    unit = "round trips/min" if is_rpm else "" if own[0].unit == "1" else own[0].unit
    better = f"{own[0].better} is better" if own[0].better and own[0].kind not in (RATE, SHARE) else ""
    axes.set_xlabel(", ".join(filter(None, (unit, better))))
    axes.set_title("\n".join(wrap(panel.title, TITLE_CHARACTERS if written else NAME_CHARACTERS)))
    axes.grid(True, axis="x")
    axes.tick_params(axis="y", length=0)


def _legend(figure: Figure, panels: Sequence[_Panel]) -> None:
    """Items, or labels, by colour; directions by mark, where there are both."""
    there = [each for panel in panels for each in panel.series]
    handles = [
        Line2D([], [], color=colour, marker="o", markersize=4, linewidth=2.2, label=name)
        for name, colour in dict.fromkeys((each.name, each.colour) for each in there if each.name)
    ]
    ways = [way for way in MARKS if any(each.measure.direction == way for each in there)]
    if len(ways) > 1:
        handles += [
            Line2D([], [], color=INK, marker=MARKS[way], markersize=4, linewidth=0, label=DIRECTION[way])
            for way in ways
        ]
    if handles:
        legend(figure, handles)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
