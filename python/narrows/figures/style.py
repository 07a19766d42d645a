"""How every figure looks: colours that colour-blind readers can tell apart, sizes of a paper's column, fonts.

Colours are Okabe and Ito's set, one per qdisc and always the same; a marker per qdisc repeats the
distinction for print in grey. Sizes are inches of a two-column paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

from narrows import qdiscs
from narrows.comparing.conditions import Queue
from narrows.tc.qdisc import Qdisc

COLUMN_IN = 3.4
PAGE_IN = 7.1
ROW_IN = 2.0

DIRECTION = {"down": "download", "up": "upload"}
MARK_COLOUR = "#c00000"

_RC: Mapping[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
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
    "figure.constrained_layout.use": True,
    # The layout is the PNG's; text of the PDF, which is not fitted to pixels, can be some points wider.
    "figure.constrained_layout.w_pad": 0.08,
}


def colour(queue: Queue | str) -> str:
    """The qdisc's colour; unknown kinds are dark grey."""
    return _known(queue).colour


def marker(queue: Queue | str) -> str:
    """The qdisc's marker."""
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


TITLE_CHARACTERS = 100
"""So many stand side by side over a figure's panels."""


def panel_columns(titles: Sequence[str]) -> int:
    """How many panels stand side by side: full rows where that can be, so that axes line up, and no more than
    leave each title its place."""
    panels = len(titles)
    columns = panels if panels <= 3 else 3 if panels % 3 == 0 or panels % 2 else 2
    longest = max(map(len, titles), default=0)
    return max(1, min(columns, TITLE_CHARACTERS // max(longest, 1)))


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
        words, (1, 1), (0, 2), "axes fraction", "offset points", fontsize=6.5, ha="right", va="bottom"
    )
