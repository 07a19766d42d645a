"""Which pairs of conditions the speed tests order the wrong way, as a matrix."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import Summary, orders
from narrows.calibrate.drawing import SMALL, runs_of
from narrows.calibrate.readings import TOOL as ANSWER
from narrows.calibrate.tables import of_tools
from narrows.figures.drawing import Drawing, Missing, Result, name_runs
from narrows.figures.style import PAGE_IN, canvas, styled
from narrows.tools.reading import OWN, THROUGHPUT

MATRIX_MOST = 40


def inversion_matrix(calibration: Calibration) -> Result:
    """Which pairs of conditions the tools' own answers order the wrong way."""
    name, title = "inversions", "Pairs of conditions that the speed tests order the wrong way"
    judged = [s for s in of_tools(calibration) if s.inversions is not None and s.whose != OWN]
    if not judged:
        return Missing(name, title, "the truths of all conditions are alike, so there is no right order")
    if not orders(judged):
        return Missing(name, title, f"none of {len(judged)} answers puts two conditions in the wrong order")
    kinds = [
        ("throughput", [s for s in judged if s.quantity == THROUGHPUT]),
        ("latency", [s for s in judged if s.quantity != THROUGHPUT]),
    ]
    kinds = [(words, part) for words, part in kinds if part]
    labels = {words: _conditions(calibration, part) for words, part in kinds}
    side = max(len(each) for each in labels.values())
    if side > MATRIX_MOST:
        return Missing(name, title, f"{side} conditions are too many for a matrix; the table has the pairs")
    figure, grid = canvas(1, len(kinds), PAGE_IN, 1.1 + 0.13 * side + 0.3)
    with styled():
        for axes, (words, part) in zip(grid[0], kinds, strict=True):
            _matrix(axes, labels[words], part)
            answers = "1 answer" if len(part) == 1 else f"{len(part)} answers"
            axes.set_title(f"{words}: {answers}", fontsize=SMALL)
        figure.supxlabel("truly less", fontsize=7.5)
        figure.supylabel("truly more", fontsize=7.5)
    runs = runs_of(calibration.table.filter(pl.col("origin") == ANSWER))
    caption = (
        "Each cell is a pair of conditions: its row truly has more capacity left (or a longer queue delay "
        "of a third "
        "party's packets) than its column, by more than the seeds vary; the number says how many of the "
        f"tools' own answers say the opposite. Conditions in order of their truth. {name_runs(runs)}"
    )
    return Drawing(name, title, caption, runs, figure, is_paper=True)


def _conditions(calibration: Calibration, part: Sequence[Summary]) -> list[str]:
    quantity = {s.quantity for s in part}
    whose = {s.whose for s in part}
    chosen = (pl.col("origin") == ANSWER) & pl.col("quantity").is_in(quantity) & pl.col("whose").is_in(whose)
    order = (
        calibration.table.filter(chosen)
        .group_by("condition")
        .agg(pl.col("truth").median())
        .sort("truth", "condition")
    )
    return [str(c) for c in order["condition"]]


def _matrix(axes: Axes, names: Sequence[str], part: Sequence[Summary]) -> None:
    place = {condition: at for at, condition in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for (less, more), number in orders(part).items():
        counts[place[more], place[less]] = number
    shown = np.ma.masked_equal(counts, 0)
    axes.imshow(shown, cmap="OrRd", vmin=0, vmax=max(1, len(part)), aspect="auto")
    # without the names of the axes: `cake 50Mbit`
    short = [" ".join(word.partition("=")[2] or word for word in n.split(" ")) for n in names]
    axes.set_xticks(range(len(names)), short, rotation=90, fontsize=5)
    axes.set_yticks(range(len(names)), short, fontsize=5)
    axes.grid(False)
    for y, x in np.argwhere(counts > 0):
        shade = "#fff" if counts[y, x] > 0.6 * len(part) else "#222"
        axes.text(x, y, f"{counts[y, x]:.0f}", ha="center", va="center", fontsize=4.5, color=shade)
    if not counts.any():
        where = axes.transAxes
        axes.text(0.5, 0.5, "no pair is inverted", transform=where, ha="center", va="center", fontsize=SMALL)
    for side in axes.spines.values():
        side.set_visible(True)
