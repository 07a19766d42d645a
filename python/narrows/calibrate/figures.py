"""Figures of a calibration: errors by queue, truth against reading, every metric on the same traces,
inversions as a matrix, parameters, cost. Colours and sizes are the report's; every figure names its runs. The
file is long because the figures share how they lay out tests and queues.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import Summary, cells, orders
from narrows.calibrate.readings import OWN_PACKETS, OWN_RTT, PROBE
from narrows.calibrate.readings import TOOL as ANSWER
from narrows.calibrate.tables import of_tools
from narrows.figures.drawing import Drawing, Missing, Result, name_runs
from narrows.figures.style import COLUMN_IN, PAGE_IN, canvas, colour, marker, queue_name, queue_rank, styled
from narrows.tools.reading import OWN, RPM, THIRD, THROUGHPUT

ROW_IN = 0.21
LINEAR_MS = 1.0
MATRIX_MOST = 40
SMALL = 6.5
TITLE_LETTERS = 25
NARROW = 4.0  # highest over lowest value of an axis: below it a logarithmic one has no ticks to read
OF_CAPACITY = "error, share of the capacity left"
DOT: dict[str, Any] = {"markersize": 5.0, "markeredgewidth": 0}
WHOSE_WORDS = {OWN: "its own packets", THIRD: "a third party's packets"}
SAMPLES_WORDS = {
    PROBE: "a third party's probe",
    OWN_RTT: "the RTT of the test's own connections",
    OWN_PACKETS: "the test's own packets",
}
KIND = "queue_kind"


def figures(found: Calibration) -> Iterator[tuple[str, Callable[[], Result]]]:
    """Section and maker of each figure."""
    yield "Throughput", lambda: bias_of_rates(found)
    yield "Latency under load", lambda: bias_of_delays(found, THIRD)
    yield "Latency under load", lambda: bias_of_delays(found, OWN)
    yield "Truth against reading", lambda: truth_against_reading(found, THROUGHPUT)
    yield "Truth against reading", lambda: truth_against_reading(found, "latency")
    yield "One trace, every metric", lambda: one_trace(found, PROBE)
    yield "One trace, every metric", lambda: one_trace(found, OWN_RTT)
    yield "One trace, every metric", lambda: one_trace(found, OWN_PACKETS)
    yield "Rank inversions", lambda: inversion_matrix(found)
    yield "The tool's own parameters", lambda: parameters(found)
    yield "Cost", lambda: cost(found)


def _percent(x: float, _: object) -> str:
    return f"{_signed(round(100 * x, 3), _)} %" if x else "0"


def _signed(x: float, _: object) -> str:
    return f"{x:+g}".replace("-", "−") if x else "0"


def _runs(table: pl.DataFrame) -> tuple[str, ...]:
    return tuple(table["run_id"].unique().sort().to_list())


def _kinds(found: Calibration, table: pl.DataFrame) -> pl.DataFrame:
    """With the queue of each run, as the plan says it (the axis may be called otherwise, or be absent)."""
    kinds = found.runs.select("run_id", pl.col("link_queue").alias(KIND))
    return table.join(kinds, on="run_id")


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
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(True, axis="x")
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)


def _error_axis(axes: Axes, relative: bool, label: str) -> None:
    """Of shares, or of ms: those over decades, linear around nothing."""
    axes.margins(x=0.06)
    axes.set_xlabel(label)
    if relative:
        axes.xaxis.set_major_formatter(FuncFormatter(_percent))
        return
    low, high = axes.dataLim.intervalx
    if max(-low, high) > LINEAR_MS:
        axes.set_xscale("symlog", linthresh=LINEAR_MS)
        most = int(np.ceil(np.log10(max(-low, high, LINEAR_MS))))
        ticks = [0.0] + [sign * 10.0**power for power in range(most + 1) for sign in (-1.0, 1.0)]
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(_signed))


def _legend(axes: Axes, kinds: Sequence[str]) -> None:
    handles = [
        Line2D([], [], color=colour(k), marker=marker(k), linestyle="none", markersize=5, label=queue_name(k))
        for k in sorted(kinds, key=queue_rank)
    ]
    axes.figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=min(len(handles), 8),
        fontsize=SMALL,
        handletextpad=0.2,
    )


def _label(row: tuple[str, ...]) -> str:
    return f"{row[0]}: {row[1]}, {row[2]}"


def bias_of_rates(found: Calibration) -> Result:
    """Relative error of each tool's own throughput, by queue."""
    name, title = "bias_throughput", "Error of each speed test's throughput, by queue"
    table = _kinds(
        found, found.table.filter((pl.col("origin") == ANSWER) & (pl.col("quantity") == THROUGHPUT))
    )
    if table.is_empty():
        return Missing(name, title, "no tool gave a throughput")
    return _bias_figure(name, title, table, True, (
        "Each tool's own throughput against the capacity that the cross traffic left it (TCP payload in "
        "full packets), "
        "run by run: median error per queue over all other conditions and seeds, line: the middle half."
    ))  # fmt: skip


def bias_of_delays(found: Calibration, whose: str) -> Result:
    """Error of each tool's own latency or responsiveness, by queue."""
    words = WHOSE_WORDS[whose]
    name = f"bias_latency_{'own' if whose == OWN else 'third_party'}"
    title = f"Error of each speed test's latency under load, by queue, against what {words} met"
    chosen = (pl.col("origin") == ANSWER) & (pl.col("quantity") != THROUGHPUT) & (pl.col("whose") == whose)
    table = _kinds(found, found.table.filter(chosen))
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
    figure = _error_figure(grouped, rows, [_label(row) for row in rows], relative, label)
    runs = _runs(table)
    return Drawing(name, title, f"{caption} {name_runs(runs)}", runs, figure)


def _error_figure(
    grouped: pl.DataFrame, rows: Sequence[tuple[str, ...]], labels: Sequence[str], relative: bool, label: str
) -> Figure:
    figure, axes = canvas(1, 1, PAGE_IN, 0.7 + (ROW_IN + 0.03 * grouped[KIND].n_unique()) * len(rows))
    with styled():
        names = ("relative_bias", "relative_p25", "relative_p75") if relative else ("bias", "p25", "p75")
        _dots(axes[0][0], grouped, rows, labels, names)
        _error_axis(axes[0][0], relative, label)
        _legend(axes[0][0], grouped[KIND].unique().to_list())
    return figure


def truth_against_reading(found: Calibration, quantity: str) -> Result:
    """Every run: what was, and what the tool said."""
    name = f"truth_{'throughput' if quantity == THROUGHPUT else 'latency'}"
    title = f"Truth against reading: {quantity}"
    rates = quantity == THROUGHPUT
    wanted = (
        pl.col("quantity") == THROUGHPUT
        if rates
        else (pl.col("quantity") != THROUGHPUT) & (pl.col("whose") == THIRD)
    )
    table = _kinds(found, found.table.filter((pl.col("origin") == ANSWER) & wanted))
    panels = table.select("tool", "metric").unique(maintain_order=True).sort("tool", "metric").rows()
    if not panels:
        return Missing(name, title, f"no tool gave a {quantity}")
    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure, grid = canvas(
        rows, columns, PAGE_IN if columns > 1 else COLUMN_IN, 1.85, sharex=True, sharey=True
    )
    scale = 1e6 if rates else 1.0
    with styled():
        low, high = _range(table, scale)
        for at, axes in enumerate(axes for line in grid for axes in line):
            if at >= len(panels):
                axes.set_visible(False)
                continue
            tool, metric = panels[at]
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
        for column in zip(*grid, strict=True):
            lowest = [axes for axes in column if axes.get_visible()][-1]
            lowest.tick_params(labelbottom=True)
            lowest.set_xlabel(f"{truth}, {unit}", fontsize=SMALL)
        figure.supylabel(f"{'reading' if rates else 'reading less base RTT'}, {unit}", fontsize=7.5)
        _legend(grid[0][0], table[KIND].unique().to_list())
    runs = _runs(table)
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


def one_trace(found: Calibration, origin: str) -> Result:
    """Every definition on the same samples: what is left is the definition."""
    slug = {PROBE: "probe", OWN_RTT: "own_rtt", OWN_PACKETS: "own_packets"}[origin]
    name, title = f"one_trace_{slug}", f"Every metric on the same traces: {SAMPLES_WORDS[origin]}"
    chosen = found.table.filter((pl.col("origin") == origin) & (pl.col("whose") != OWN))
    table = _kinds(found, chosen).with_columns(tool=pl.lit("all"), direction=pl.lit("both"))
    if table.is_empty():
        return Missing(name, title, "nothing was recorded that these metrics can be computed on")
    rates = origin == OWN_PACKETS
    grouped = cells(table, [KIND])
    rows = _rows_of(grouped.sort("quantity", "metric"))
    label = OF_CAPACITY if rates else "error against what a third party's packets met, ms"
    figure = _error_figure(grouped, rows, [row[1] for row in rows], rates, label)
    runs = _runs(table)
    caption = (
        f"All tools and both directions together; samples: {SAMPLES_WORDS[origin]}. Each definition is given "
        "the same samples, so what differs is the definition. Median error per queue, line: the middle half. "
        f"{name_runs(runs)}"
    )
    return Drawing(name, title, caption, runs, figure)


def inversion_matrix(found: Calibration) -> Result:
    """Which pairs of conditions the tools' own answers order the wrong way."""
    name, title = "inversions", "Pairs of conditions that the speed tests order the wrong way"
    judged = [s for s in of_tools(found) if s.inversions is not None and s.whose != OWN]
    if not judged:
        return Missing(name, title, "the truths of all conditions are alike, so there is no right order")
    if not orders(judged):
        return Missing(name, title, f"none of {len(judged)} answers puts two conditions in the wrong order")
    kinds = [
        ("throughput", [s for s in judged if s.quantity == THROUGHPUT]),
        ("latency", [s for s in judged if s.quantity != THROUGHPUT]),
    ]
    kinds = [(words, part) for words, part in kinds if part]
    labels = {words: _conditions(found, part) for words, part in kinds}
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
    runs = _runs(found.table.filter(pl.col("origin") == ANSWER))
    caption = (
        "Each cell is a pair of conditions: its row truly has more capacity left (or a longer queue delay "
        "of a third "
        "party's packets) than its column, by more than the seeds vary; the number says how many of the "
        f"tools' own answers say the opposite. Conditions in order of their truth. {name_runs(runs)}"
    )
    return Drawing(name, title, caption, runs, figure)


def _conditions(found: Calibration, part: Sequence[Summary]) -> list[str]:
    quantity = {s.quantity for s in part}
    whose = {s.whose for s in part}
    chosen = (pl.col("origin") == ANSWER) & pl.col("quantity").is_in(quantity) & pl.col("whose").is_in(whose)
    order = (
        found.table.filter(chosen)
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
    short = [_short(n) for n in names]
    axes.set_xticks(range(len(names)), short, rotation=90, fontsize=5)
    axes.set_yticks(range(len(names)), short, fontsize=5)
    axes.grid(False)
    for y, x in np.argwhere(counts > 0):
        dark = counts[y, x] > 0.6 * len(part)
        axes.text(
            x,
            y,
            f"{counts[y, x]:.0f}",
            ha="center",
            va="center",
            fontsize=4.5,
            color="#fff" if dark else "#222",
        )
    if not counts.any():
        words = {"ha": "center", "va": "center", "fontsize": SMALL}
        axes.text(0.5, 0.5, "no pair is inverted", transform=axes.transAxes, **words)  # type: ignore[arg-type]
    for side in axes.spines.values():
        side.set_visible(True)


def _short(condition: str) -> str:
    """Without the names of the axes: `cake 50Mbit`."""
    return " ".join(word.partition("=")[2] or word for word in condition.split(" "))


def parameters(found: Calibration) -> Result:
    """How far the tools' own answers move with their own parameters."""
    name, title = "parameters", "How far an answer moves with the tool's own parameters"
    rows = found.parameters.filter((pl.col("origin") == ANSWER) & pl.col("median").is_not_null())
    if rows.is_empty():
        return Missing(name, title, "no variations were run; --vary runs them")
    rows = rows.sort("quantity", "usual", "variation", "metric", "direction")
    figure, axes = canvas(1, 1, PAGE_IN, 0.5 + ROW_IN * rows.height)
    with styled():
        panel = axes[0][0]
        for at, row in enumerate(rows.iter_rows(named=True)):
            shade = (
                "#0072b2"
                if row["quantity"] == THROUGHPUT
                else "#7a1f5c"
                if row["quantity"] == RPM
                else "#d55e00"
            )
            panel.plot([row["p5"], row["p95"]], [at, at], color=shade, linewidth=0.9, alpha=0.6)
            panel.plot(row["median"], at, "o", color=shade, markersize=3.4, markeredgewidth=0)
        words = [
            f"{r['usual']} {r['variation']}: {r['metric']}, {r['direction']}"
            for r in rows.iter_rows(named=True)
        ]
        panel.set_yticks(range(len(words)), words)
        panel.set_ylim(len(words) - 0.5, -0.5)
        panel.axvline(0.0, color="#222222", linewidth=0.7)
        panel.xaxis.set_major_formatter(FuncFormatter(_percent))
        panel.set_xlabel("change of the answer against the tool's usual parameters, same condition and seed")
        panel.grid(True, axis="x")
        panel.grid(False, axis="y")
    runs = _runs(found.table.filter(pl.col("origin") == ANSWER))
    return Drawing(
        name, title,
        "Median of the pairs of runs, line from 5 % to 95 %. Blue: throughput, orange: latency, purple: "
        f"RPM. {name_runs(runs)}",
        runs, figure,
    )  # fmt: skip


def cost(found: Calibration) -> Result:
    """Bytes per test."""
    name, title = "cost", "What one test costs"
    table = found.costs
    if table.is_empty():
        return Missing(name, title, "no packets were recorded")
    figure, axes = canvas(1, 1, COLUMN_IN, 0.4 + 0.16 * table.height)
    with styled():
        panel = axes[0][0]
        at = np.arange(table.height)
        middle = table["median_bytes"].to_numpy() / 1e6
        panel.barh(at, middle, color="#0072b2", height=0.55, alpha=0.85)
        panel.hlines(
            at,
            table["least_bytes"].to_numpy() / 1e6,
            table["most_bytes"].to_numpy() / 1e6,
            color="#222",
            linewidth=0.8,
        )
        panel.set_yticks(at, table["tool"].to_list())
        panel.set_ylim(table.height - 0.5, -0.5)
        panel.set_xlim(left=0)
        panel.set_xlabel("MB through the bottleneck, both directions")
        panel.grid(True, axis="x")
        panel.grid(False, axis="y")
    runs = _runs(found.table)
    return Drawing(
        name, title, f"Bar: median over all runs, line: least to most. {name_runs(runs)}", runs, figure
    )
