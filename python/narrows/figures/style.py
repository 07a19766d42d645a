"""How every figure looks: colours that colour-blind readers can tell apart, sizes of a paper's column, fonts.

Colours are Okabe and Ito's set, one per qdisc and always the same; a marker per qdisc repeats the
distinction for print in grey. Sizes are inches of a two-column paper.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

from narrows import qdiscs
from narrows.comparing.conditions import Queue
from narrows.comparing.items import names
from narrows.runs.items import items
from narrows.runs.observed import Observed
from narrows.tc.qdisc import Qdisc

COLUMN_IN = 3.4
PAGE_IN = 7.1
ROW_IN = 2.0
LEGEND_ROW_IN = 0.17

DIRECTION = {"down": "download", "up": "upload"}
MARK_COLOUR = "#c00000"
INK = "#000000"
ITEMS = ("#0072b2", "#d55e00", "#009e73", "#b8578f", "#9a6b00", "#2d7fb0", "#7a1f5c", "#5b6b7a")
"""Colours of items, on every page and in every figure; probes have the last."""
CONDITIONS = ("#1b2733", "#b0562a", "#4a7fa5", "#7a5c9e", "#8a8a3c", "#3d8f7d", "#c08ca8", "#94a0ab")
"""Colours of conditions, where a curve is one of them."""

_RC: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.1,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "pdf.fonttype": 42,
    "svg.hashsalt": "narrows",
    "svg.fonttype": "none",
    "figure.constrained_layout.use": True,
    # The layout is the PNG's; text of the PDF, which is not fitted to pixels, can be some points wider.
    "figure.constrained_layout.w_pad": 0.08,
}


def item_places(is_probe: Sequence[bool]) -> list[int]:
    """The place of each item of a run in `ITEMS`: loads from the first on, in the order of the plan, probes
    from the last."""
    loads, probes = itertools.count(), itertools.count(1)
    return [len(ITEMS) - next(probes) if probe else next(loads) for probe in is_probe]


def item_colours(runs: Sequence[Observed]) -> dict[str, str]:
    """The colour of each item of some runs, by what people call it; a second one of a name is `name (2)`."""
    found: dict[str, int] = {}
    for run in runs:
        every = items(run)
        called = names(run, every)
        places = item_places([item.is_probe for item in every])
        for nth, (name, place) in enumerate(zip(called, places, strict=True)):
            again = called[:nth].count(name)
            whose = f"{name} ({again + 1})" if again else name
            while whose not in found and place in found.values() and place < len(ITEMS) - 1:
                place += 1
            found.setdefault(whose, place)
    return {name: ITEMS[place % len(ITEMS)] for name, place in found.items()}


def colour(queue: Queue | str) -> str:
    """The qdisc's colour; unknown kinds are dark grey."""
    return _known(queue).colour


def marker(queue: Queue | str) -> str:
    return _known(queue).marker


def _known(queue: Queue | str) -> type[Qdisc]:
    names = (queue.label, queue.kind) if isinstance(queue, Queue) else (queue,)
    return next((found for name in names if (found := qdiscs.named(name))), Qdisc)


def queue_name(queue: Queue | str) -> str:
    """The qdisc as it is written in text; what a person called otherwise, as they wrote it."""
    label = queue.label if isinstance(queue, Queue) else queue
    return _known(label).title or label


def without_formulas(figure: Figure) -> None:
    """Has all text of a figure drawn as it is written: in people's names a dollar sign begins no formula.
    What Matplotlib writes at ticks by itself stays, such as powers of ten."""
    own: set[Text] = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        own.add(axis.get_offset_text())
        for ticks, formatter in (
            (axis.get_majorticklabels(), axis.get_major_formatter()),
            (axis.get_minorticklabels(), axis.get_minor_formatter()),
        ):
            own.update([] if isinstance(formatter, FixedFormatter | FuncFormatter) else ticks)
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text not in own:
            text.set_parse_math(False)


def canvas(
    rows: int = 1, columns: int = 1, width_in: float = PAGE_IN, row_in: float = ROW_IN, **options: Any
) -> tuple[Figure, list[list[Axes]]]:
    """A figure of rows x columns axes in our style."""
    with plt.rc_context(_RC):  # type: ignore[arg-type]
        figure, axes = plt.subplots(
            rows, columns, figsize=(width_in, row_in * rows + 0.35), squeeze=False, **options
        )
    return figure, [list(row) for row in axes]


def panels_of(number: int, columns: int, *size_in: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels, row by row; the last row may be shorter."""
    figure, grid = canvas(-(-number // columns), columns, *size_in, **options)
    cells = [axes for row in grid for axes in row]
    for spare in cells[number:]:
        spare.remove()
    return figure, cells[:number]


TITLE_CHARACTERS = 100
"""So many stand side by side over a figure's panels."""


def panel_columns(titles: Sequence[str]) -> int:
    """How many panels stand side by side: full rows where that can be, so that axes line up, and no more than
    leave each title its place."""
    panels = len(titles)
    columns = panels if panels <= 3 else 3 if panels % 3 == 0 or panels % 2 else 2
    longest = max(map(len, titles), default=0)
    return max(1, min(columns, TITLE_CHARACTERS // max(longest, 1)))


def legend(
    figure: Figure,
    handles: Sequence[Artist],
    at: Literal["outside lower center", "outside upper left", "outside upper right"] = "outside lower center",
    title: str = "",
) -> None:
    """A legend outside the panels, which leaves them their height; no more of its entries stand side by side
    than a phone shows without scrolling."""
    longest = max((len(str(handle.get_label())) for handle in handles), default=0)
    columns = max(1, min(len(handles), 3, 260 // (40 + 5 * longest)))  # in points: a handle, and its words
    more = max(0, -(-len(handles) // columns) - 1)
    figure.set_figheight(figure.get_figheight() + LEGEND_ROW_IN * more)
    figure.legend(handles=handles, loc=at, ncols=columns, title=title)


def nested_width(place: int, of: int) -> float:
    """Width of the curve drawn at this place: the first is the widest, so that curves that coincide show."""
    return 1.0 + 1.4 * (of - 1 - place) / max(of - 1, 1)


def styled() -> Any:
    """Context in which text and ticks made after the canvas also get our style."""
    return plt.rc_context(_RC)  # type: ignore[arg-type]


def corner(axes: Axes, words: str) -> None:
    """A short note above the axes at the right, where it covers no line."""
    # not a title at the right: its pad would move the axes' own title too
    axes.annotate(
        words, (1, 1), (0, 2), "axes fraction", "offset points", fontsize=8, ha="right", va="bottom"
    )
