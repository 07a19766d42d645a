"""The study's figures: heat maps of shares, of the link's use and of losses, at both rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from narrows.comparing.pair_shares import Side, Summary
from narrows.figures.drawing import Drawing, Missing, Result, count_runs, name_runs
from narrows.figures.style import canvas, styled
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import Observed
from narrows.studies.prudentia import curves
from narrows.studies.prudentia.claims.parts import lengths, pairs, used
from narrows.studies.prudentia.testbed import TEN

SECTION = "Heat maps (Figure 4.2 and the thesis' appendix)"
Cell = Callable[[Summary, Side], float | None]
MAPS: dict[str, tuple[str, Cell, float, str, str]] = {
    "share": (
        "What share of its max-min fair rate a service gets",
        lambda _, side: side.share,
        2.0,
        "RdBu",
        "%",
    ),
    "use": ("How much of the link each pair uses", lambda one, _: one.utilisation, 1.0, "viridis", "%"),
    "loss": ("How many of its packets a service loses", lambda _, side: side.loss, 0.1, "magma_r", "%"),
}


def figures(runs: Sequence[Observed]) -> list[tuple[str, Callable[[], Result]]]:
    """What the study's page draws, each with its section."""
    return [
        (SECTION, lambda rate=rate, what=what: heat_map(runs, rate, what))
        for rate in ("8Mbit", "50Mbit")
        for what in MAPS
    ] + curves.figures(runs)


def heat_map(runs: Sequence[Observed], rate: str, what: str) -> Result:
    """Columns are the incumbent whose number it is, rows the contender that it meets."""
    title, read, most, colours, unit = MAPS[what]
    name, title = f"{what}_{rate}", f"{title}, at {rate.removesuffix('Mbit')} Mbit/s"
    every = [one for one in pairs(runs, rate) if len(one.pair) == 2]
    names = [n for n in TEN if any(n in one.pair for one in every)]
    cells: Floats = np.full((len(names), len(names)), np.nan)
    for one in every:
        if not set(one.pair) <= set(names):
            continue
        for n, side in enumerate(one.sides):
            value = read(one, side)
            if value is None:
                continue
            row, column = names.index(one.pair[1 - n]), names.index(side.service)
            # Against itself both sides stand in one cell: the smaller.
            known = cells[row, column]
            cells[row, column] = value if np.isnan(known) else min(value, known)
    if not names or np.isnan(cells).all():
        return Missing(name, title, "no two services met")
    figure, grid = canvas(1, 1, row_in=0.42 * len(names) + 1.2)
    axes = grid[0][0]
    with styled():
        axes.imshow(cells, cmap=colours, vmin=0.0, vmax=most, aspect="auto")
        for row, column in np.argwhere(~np.isnan(cells)):
            value = cells[row, column]
            text = f"{100 * value:.0f}" if most > 0.5 else f"{100 * value:.1f}"
            dark = (
                abs(value / most - 0.5) > 0.3
                if colours == "RdBu"
                else (value / most < 0.6) == (colours == "viridis")
            )
            axes.text(
                column, row, text, ha="center", va="center", color="white" if dark else "black", fontsize=7
            )
        axes.set_xticks(range(len(names)), names, rotation=40, ha="right")
        axes.set_yticks(range(len(names)), names)
        axes.set_xlabel("incumbent: whose number it is")
        axes.set_ylabel("contender: whom it meets")
        axes.grid(visible=False)
    ids = used(every)
    caption = (
        f"In {unit}; medians over valid trials, {lengths(every)}; empty: not measured. Shares are of the "
        f"max-min fair rate, from what each service takes alone. {count_runs(len(ids))}. {name_runs(ids)}"
    )
    return Drawing(name, title, caption, ids, figure)
