"""Errors by queue: of the tools' own answers, and of every metric on the same traces."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from narrows.calibrate import drawing
from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import cells
from narrows.calibrate.drawing import DOT, KIND, ROW_IN, kinds_of, legend, percent, runs_of, signed
from narrows.calibrate.readings import OWN_PACKETS, OWN_RTT, PROBE
from narrows.calibrate.readings import TOOL as ANSWER
from narrows.comparing.conditions import queue_rank
from narrows.figures.drawing import Drawing, Missing, Result, name_runs
from narrows.figures.style import PAGE_IN, canvas, colour, marker, styled
from narrows.tools.reading import OWN, THIRD, THROUGHPUT

LINEAR_MS = 1.0
OF_CAPACITY = "error, share of the capacity left"
WHOSE_WORDS = {OWN: "its own packets", THIRD: "a third party's packets"}
SAMPLES_WORDS = {
    PROBE: "a third party's probe",
    OWN_RTT: "the RTT of the test's own connections",
    OWN_PACKETS: "the test's own packets",
}


def bias_of_rates(calibration: Calibration) -> Result:
    """Relative error of each tool's own throughput, by queue."""
    name, title = "bias_throughput", "Error of each speed test's throughput, by queue"
    table = kinds_of(
        calibration,
        calibration.table.filter((pl.col("origin") == ANSWER) & (pl.col("quantity") == THROUGHPUT)),
    )
    if table.is_empty():
        return Missing(name, title, "no tool gave a throughput")
    return _bias_figure(name, title, table, True, (
        "Each tool's own throughput against the capacity that the cross traffic left it (TCP payload in "
        "full packets), "
        "run by run: median error per queue over all other conditions and seeds, line: the middle half."
    ))  # fmt: skip


def bias_of_delays(calibration: Calibration, whose: str) -> Result:
    """Error of each tool's own latency or responsiveness, by queue."""
    words = WHOSE_WORDS[whose]
    name = f"bias_latency_{'own' if whose == OWN else 'third_party'}"
    title = f"Error of each speed test's latency under load, by queue, against what {words} met"
    chosen = (pl.col("origin") == ANSWER) & (pl.col("quantity") != THROUGHPUT) & (pl.col("whose") == whose)
    table = kinds_of(calibration, calibration.table.filter(chosen))
    if table.is_empty():
        return Missing(name, title, "no tool gave a latency under load")
    return _bias_figure(name, title, table, False, (
        f"Each tool's own latency, less the base RTT, against the queue delay that {words} met at the "
        "bottleneck while "
        "the tool loaded it (responsiveness as the time of a round trip): median error per queue, line: "
        "the middle "
        "half of the runs. Left of 0 the tool says less than was there. The axis is linear within ±1 ms."
    ))  # fmt: skip


def _bias_figure(name: str, title: str, table: pl.DataFrame, relative: bool, caption: str) -> Drawing:
    grouped = cells(table, [KIND])
    rows = _rows_of(grouped)
    label = OF_CAPACITY if relative else "error, ms"
    figure = _error_figure(grouped, rows, [f"{row[0]}: {row[1]}, {row[2]}" for row in rows], relative, label)
    runs = runs_of(table)
    return Drawing(name, title, f"{caption} {name_runs(runs)}", runs, figure)


def one_trace(calibration: Calibration, origin: str) -> Result:
    """Every definition on the same samples: what is left is the definition."""
    slug = {PROBE: "probe", OWN_RTT: "own_rtt", OWN_PACKETS: "own_packets"}[origin]
    name, title = f"one_trace_{slug}", f"Every metric on the same traces: {SAMPLES_WORDS[origin]}"
    chosen = calibration.table.filter((pl.col("origin") == origin) & (pl.col("whose") != OWN))
    table = kinds_of(calibration, chosen).with_columns(tool=pl.lit("all"), direction=pl.lit("both"))
    if table.is_empty():
        return Missing(name, title, "nothing was recorded that these metrics can be computed on")
    rates = origin == OWN_PACKETS
    grouped = cells(table, [KIND])
    rows = _rows_of(grouped.sort("quantity", "metric"))
    label = OF_CAPACITY if rates else "error against what a third party's packets met, ms"
    figure = _error_figure(grouped, rows, [row[1] for row in rows], rates, label)
    runs = runs_of(table)
    caption = (
        f"All tools and both directions together; samples: {SAMPLES_WORDS[origin]}. Each definition is given "
        "the same samples, so what differs is the definition. Median error per queue, line: the middle half. "
        f"{name_runs(runs)}"
    )
    return Drawing(name, title, caption, runs, figure)


def _rows_of(grouped: pl.DataFrame) -> list[tuple[str, ...]]:
    return [
        tuple(row) for row in grouped.select("tool", "metric", "direction").unique(maintain_order=True).rows()
    ]


def _dots(
    axes: Axes,
    grouped: pl.DataFrame,
    rows: Sequence[tuple[str, ...]],
    labels: Sequence[str],
    names: tuple[str, str, str],
) -> None:
    """One row per figure, one dot per queue: median, with the middle half of the runs as a line."""
    middle, low, high = names
    kinds = sorted(grouped[KIND].unique().to_list(), key=queue_rank)
    step = 0.72 / max(len(kinds), 1)
    for at, row in enumerate(rows):
        mine = grouped.filter(
            (pl.col("tool") == row[0]) & (pl.col("metric") == row[1]) & (pl.col("direction") == row[2])
        )
        if at % 2:
            axes.axhspan(at - 0.5, at + 0.5, color="#f4f6f8", linewidth=0, zorder=0)
        for place, kind in enumerate(kinds):
            one = mine.filter(pl.col(KIND) == kind)
            if one.is_empty() or one[middle][0] is None:
                continue
            y = at + (place - (len(kinds) - 1) / 2) * step
            axes.plot([one[low][0], one[high][0]], [y, y], color=colour(kind), linewidth=1.2, alpha=0.7)
            axes.plot(one[middle][0], y, marker(kind), color=colour(kind), **DOT)
    axes.axvline(0.0, color="#222222", linewidth=0.7)
    drawing.rows(axes, labels)
    axes.tick_params(axis="y", length=0)


def _error_axis(axes: Axes, relative: bool, label: str) -> None:
    """The scale is for shares, or for ms: those over decades, linear around nothing."""
    axes.margins(x=0.06)
    axes.set_xlabel(label)
    if relative:
        axes.xaxis.set_major_formatter(FuncFormatter(percent))
        return
    low, high = axes.dataLim.intervalx
    if max(-low, high) > LINEAR_MS:
        axes.set_xscale("symlog", linthresh=LINEAR_MS)
        most = int(np.ceil(np.log10(max(-low, high, LINEAR_MS))))
        ticks = [0.0] + [sign * 10.0**power for power in range(most + 1) for sign in (-1.0, 1.0)]
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(signed))


def _error_figure(
    grouped: pl.DataFrame, rows: Sequence[tuple[str, ...]], labels: Sequence[str], relative: bool, label: str
) -> Figure:
    figure, axes = canvas(1, 1, PAGE_IN, 0.7 + (ROW_IN + 0.03 * grouped[KIND].n_unique()) * len(rows))
    with styled():
        names = ("relative_bias", "relative_p25", "relative_p75") if relative else ("bias", "p25", "p75")
        _dots(axes[0][0], grouped, rows, labels, names)
        _error_axis(axes[0][0], relative, label)
        legend(axes[0][0], grouped[KIND].unique().to_list())
    return figure
