"""Truth against reading: a point for every run."""

import textwrap

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from narrows.calibrate.calibration import Calibration
from narrows.calibrate.drawing import DOT, KIND, SMALL, kinds_of, legend, runs_of
from narrows.calibrate.readings import TOOL as ANSWER
from narrows.comparing.conditions import queue_rank
from narrows.figures.drawing import Drawing, Missing, Result, name_runs
from narrows.figures.style import COLUMN_IN, PAGE_IN, colour, marker, panels_of, styled
from narrows.tools.reading import THIRD, THROUGHPUT

TITLE_LETTERS = 25
NARROW = 4.0  # highest over lowest value of an axis: below it a logarithmic one has no ticks to read


def truth_against_reading(calibration: Calibration, quantity: str) -> Result:
    """Every run: what was, and what the tool said."""
    name = f"truth_{'throughput' if quantity == THROUGHPUT else 'latency'}"
    title = f"Truth against reading: {quantity}"
    rates = quantity == THROUGHPUT
    wanted = (
        pl.col("quantity") == THROUGHPUT
        if rates
        else (pl.col("quantity") != THROUGHPUT) & (pl.col("whose") == THIRD)
    )
    table = kinds_of(calibration, calibration.table.filter((pl.col("origin") == ANSWER) & wanted))
    panels = table.select("tool", "metric").unique(maintain_order=True).sort("tool", "metric").rows()
    if not panels:
        return Missing(name, title, f"no tool gave a {quantity}")
    columns = min(4, len(panels))
    wide = PAGE_IN if columns > 1 else COLUMN_IN
    figure, cells = panels_of(len(panels), columns, wide, 1.85, sharex=True, sharey=True)
    scale = 1e6 if rates else 1.0
    with styled():
        low, high = _range(table, scale)
        for axes, (tool, metric) in zip(cells, panels, strict=True):
            mine = table.filter((pl.col("tool") == tool) & (pl.col("metric") == metric))
            ends = [low / 1.15, high * 1.15]
            axes.plot(ends, ends, color="#222222", linewidth=0.7, zorder=1)
            for kind in sorted(mine[KIND].unique().to_list(), key=queue_rank):
                one = mine.filter(pl.col(KIND) == kind)
                seen = np.clip(one["seen"].to_numpy() / scale, low, high)
                axes.plot(
                    np.clip(one["truth"].to_numpy() / scale, low, high), seen, marker(kind),
                    color=colour(kind), alpha=0.85, **DOT,
                )  # fmt: skip
            _amounts(axes, low / 1.15, high * 1.15)
            axes.set_title(f"{tool}\n{textwrap.fill(metric, TITLE_LETTERS)}", fontsize=SMALL)
        unit = "Mbit/s" if rates else "ms"
        truth = "capacity left" if rates else "a third party's queue delay"
        for lowest in cells[-columns:]:
            lowest.tick_params(labelbottom=True)
            lowest.set_xlabel(f"{truth}, {unit}", fontsize=SMALL)
        figure.supylabel(f"{'reading' if rates else 'reading less base RTT'}, {unit}", fontsize=7.5)
        legend(cells[0], table[KIND].unique().to_list())
    runs = runs_of(table)
    floor = "" if rates else f" Values below {low:g} ms are drawn there."
    caption = f"A point per run and direction; on the line the tool says what was.{floor} {name_runs(runs)}"
    return Drawing(name, title, caption, runs, figure)


def _amounts(axes: Axes, low: float, high: float) -> None:
    """Both axes alike: logarithmic where that gives ticks to read."""
    wide = high / low >= NARROW
    for way, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        if wide:
            axes.set(**{f"{way}scale": "log"})
            axis.set_major_locator(
                LogLocator(subs=(1.0,) if high / low > 100 else (1.0, 2.0, 5.0), numticks=12)
            )
            axis.set_minor_locator(NullLocator())
        else:
            axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        axes.set(**{f"{way}lim": (low, high)})
    axes.grid(True, axis="both")


def _range(table: pl.DataFrame, scale: float) -> tuple[float, float]:
    values = np.concatenate([table["truth"].to_numpy(), table["seen"].to_numpy()]) / scale
    high = float(np.nanmax(values))
    least = float(np.nanmin(values)) if scale != 1.0 else 0.1
    return max(least, high / 1e5, 1e-3), high
