"""The figures of a calibration in the order of its page. Colours and sizes are those of the report."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from matplotlib.ticker import FuncFormatter

from narrows.calibrate import drawing
from narrows.calibrate.calibration import Calibration
from narrows.calibrate.drawing import ROW_IN, percent, runs_of
from narrows.calibrate.error_figures import bias_of_delays, bias_of_rates, one_trace
from narrows.calibrate.inversion_figure import inversion_matrix
from narrows.calibrate.readings import OWN_PACKETS, OWN_RTT, PROBE
from narrows.calibrate.readings import TOOL as ANSWER
from narrows.calibrate.truth_figure import truth_against_reading
from narrows.figures.drawing import Drawing, Missing, Result, name_runs
from narrows.figures.style import COLUMN_IN, PAGE_IN, canvas, styled
from narrows.tools.reading import OWN, RPM, THIRD, THROUGHPUT


def figures(calibration: Calibration) -> Iterator[tuple[str, Callable[[], Result]]]:
    yield "Throughput", lambda: bias_of_rates(calibration)
    yield "Latency under load", lambda: bias_of_delays(calibration, THIRD)
    yield "Latency under load", lambda: bias_of_delays(calibration, OWN)
    yield "Truth against reading", lambda: truth_against_reading(calibration, THROUGHPUT)
    yield "Truth against reading", lambda: truth_against_reading(calibration, "latency")
    yield "One trace, every metric", lambda: one_trace(calibration, PROBE)
    yield "One trace, every metric", lambda: one_trace(calibration, OWN_RTT)
    yield "One trace, every metric", lambda: one_trace(calibration, OWN_PACKETS)
    yield "Rank inversions", lambda: inversion_matrix(calibration)
    yield "The tool's own parameters", lambda: parameters(calibration)
    yield "Cost", lambda: cost(calibration)


def parameters(calibration: Calibration) -> Result:
    """How far the tools' own answers move with their own parameters."""
    name, title = "parameters", "How far an answer moves with the tool's own parameters"
    rows = calibration.parameters.filter((pl.col("origin") == ANSWER) & pl.col("median").is_not_null())
    if rows.is_empty():
        return Missing(name, title, "no variations were run; --vary runs them")
    rows = rows.sort("quantity", "usual", "variation", "metric", "direction")
    figure, axes = canvas(1, 1, PAGE_IN, 0.5 + ROW_IN * rows.height)
    with styled():
        panel = axes[0][0]
        for at, row in enumerate(rows.iter_rows(named=True)):
            shade = {THROUGHPUT: "#0072b2", RPM: "#7a1f5c"}.get(row["quantity"], "#d55e00")
            panel.plot([row["p5"], row["p95"]], [at, at], color=shade, linewidth=0.9, alpha=0.6)
            panel.plot(row["median"], at, "o", color=shade, markersize=3.4, markeredgewidth=0)
        words = [
            f"{r['usual']} {r['variation']}: {r['metric']}, {r['direction']}"
            for r in rows.iter_rows(named=True)
        ]
        drawing.rows(panel, words)
        panel.axvline(0.0, color="#222222", linewidth=0.7)
        panel.xaxis.set_major_formatter(FuncFormatter(percent))
        panel.set_xlabel("change of the answer against the tool's usual parameters, same condition and seed")
    runs = runs_of(calibration.table.filter(pl.col("origin") == ANSWER))
    return Drawing(
        name, title,
        "Median of the pairs of runs, line from 5 % to 95 %. Blue: throughput, orange: latency, purple: "
        f"RPM. {name_runs(runs)}",
        runs, figure,
    )  # fmt: skip


def cost(calibration: Calibration) -> Result:
    """Bytes per test."""
    name, title = "cost", "What one test costs"
    table = calibration.costs
    if table.is_empty():
        return Missing(name, title, "no packets were recorded")
    figure, axes = canvas(1, 1, COLUMN_IN, 0.4 + 0.16 * table.height)
    with styled():
        panel = axes[0][0]
        at = np.arange(table.height)
        middle = table["median_bytes"].to_numpy() / 1e6
        panel.barh(at, middle, color="#0072b2", height=0.55, alpha=0.85)
        least, most = (table[f"{which}_bytes"].to_numpy() / 1e6 for which in ("least", "most"))
        panel.hlines(at, least, most, color="#222", linewidth=0.8)
        drawing.rows(panel, table["tool"].to_list())
        panel.set_xlim(left=0)
        panel.set_xlabel("MB through the bottleneck, both directions")
    runs = runs_of(calibration.table)
    return Drawing(
        name, title, f"Bar: median over all runs, line: least to most. {name_runs(runs)}", runs, figure
    )
