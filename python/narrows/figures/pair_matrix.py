"""Services that met, drawn as `narrows.comparing.matrix` has them: each cell has two halves."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from narrows.comparing.conditions import facet_title
from narrows.comparing.matrix import Cell, Matrix, Quantity, ink, rows
from narrows.comparing.pair_shares import Summary
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs
from narrows.figures.style import PAGE_IN, canvas, styled

CELL_IN = 0.34
MOST_BESIDE = 3
MOST_LINES = 6
"""The most on one sheet; of more those with most pairs are drawn."""
SEVERAL_FROM = 5
"""From so many services on a matrix has a line of its own."""


def draw(
    every: Sequence[Summary],
    quantity: Quantity,
    name: str,
    title: str,
    more: str = "",
    order: Sequence[str] = (),
) -> Result:
    """The matrices of a quantity; those of few services stand side by side where they differ in the queue.
    `more` is said in the caption."""
    found = rows(every, quantity, order)
    if not found:
        return Missing(name, title, "no two services met")
    services = max(len(one.names) for line in found for one in line)
    beside = 1 if services >= SEVERAL_FROM else min(MOST_BESIDE, max(len(line) for line in found))
    lines = [line[n : n + beside] for line in found for n in range(0, len(line), beside)]
    fewer = sorted(lines, key=lambda line: -sum(len(one.cells) for one in line))[MOST_LINES:]
    lines = [line for line in lines if line not in fewer]
    services = max(len(one.names) for line in lines for one in line)
    figure, grid = canvas(len(lines), beside, PAGE_IN, CELL_IN * services + 0.9)
    with styled():
        for places, line in zip(grid, lines, strict=True):
            for axes, matrix in zip(places, line, strict=False):
                _matrix(axes, matrix)
            for axes in places[len(line) :]:
                axes.remove()
    ids = tuple(sorted({run for one in every for run in one.run_ids if len(one.pair) == 2}))
    trials = sorted({one.n for one in every if len(one.pair) == 2})
    each = " to ".join(str(n) for n in dict.fromkeys((trials[0], trials[-1])))
    left_out = (
        f"{sum(map(len, fewer))} more sets of conditions, of fewer pairs: narrows serve. " if fewer else ""
    )
    what = f"{quantity.words[:1].upper()}{quantity.words[1:]}"
    halves = (
        "Each pair has one number."
        if quantity.is_of_both
        else "Of a cell the left number is of the row's service, the right of the column's, which it met; "
        "on the diagonal two equal services met."
    )
    caption = (
        f"{what}{f', in {quantity.unit}' if quantity.unit else ''}. {halves} Medians over the valid trials "
        f"of a pair, n = {each}; – or empty: not measured. {left_out}{more}"
        f"{count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure, is_paper=True)


def _matrix(axes: Axes, matrix: Matrix) -> None:
    names = matrix.names
    for (row, column), cell in matrix.cells.items():
        _cell(axes, names.index(row), names.index(column), cell)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
    axes.set_yticks(range(len(names)), names)
    axes.set_title(facet_title(*zip(*matrix.conditions, strict=True)) if matrix.conditions else "All trials")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _cell(axes: Axes, y: int, x: int, cell: Cell) -> None:
    width = 0.96 / len(cell.texts)
    for n, (text, colour) in enumerate(zip(cell.texts, cell.colours, strict=True)):
        left = x - 0.48 + n * width
        paint = (0.93, 0.93, 0.93) if colour is None else tuple(part / 255 for part in colour)
        axes.add_patch(Rectangle((left, y - 0.47), width, 0.94, facecolor=paint, edgecolor="none"))
        dark = "#000" if colour is None else ink(colour)
        axes.text(left + width / 2, y, text, ha="center", va="center", color=dark, fontsize=6)
    axes.add_patch(
        Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, fill=False, edgecolor="#999999", linewidth=0.5)
    )
