"""The table beside the figures: by condition and quantity n, median with its interval, IQR, p95, p99, std."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from narrows.comparing.conditions import REPETITION, axes, group
from narrows.comparing.items import frame, told_apart
from narrows.comparing.outcome import told
from narrows.comparing.repetitions import independent
from narrows.figures.style import DIRECTION
from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.working_latency import working_latency
from narrows.metrics.statistics.arrays import clean
from narrows.metrics.statistics.distribution import Distribution, distribution
from narrows.metrics.statistics.ecdf import weighted_quantile
from narrows.metrics.statistics.stability import coefficient_of_variation
from narrows.plan import wire
from narrows.report.table_many import many_flow_rows
from narrows.runs import loaded
from narrows.runs.capacity import shaper
from narrows.runs.items import mean_rate
from narrows.runs.observed import Observed, pooled

CCA_SHARE = "cca_share"
"""The metric of ordinary flows (docs/data.md)."""


@dataclass(frozen=True)
class Row:
    """One quantity under one condition."""

    condition: tuple[str, ...]
    quantity: str
    unit: str
    over: str  # what n counts
    values: Distribution


@dataclass(frozen=True)
class Table:
    """Rows with the names of the axes of their conditions."""

    axes: tuple[str, ...]
    rows: tuple[Row, ...]


def summary(runs: Sequence[Observed], on: Sequence[str] | None = None) -> Table:
    """All conditions of the good runs, or those that the axes `on` tell apart; repetitions that are equal
    count as one. Quantities that were not measured have no row."""
    good, _ = independent([r for r in runs if r.ok])
    by = [a for a in axes(good) if a != REPETITION] if on is None else list(on)
    rows: list[Row] = []
    of_items = told_apart(frame(good).filter(~pl.col("is_probe")))
    for key, same in group(good, by).items():
        own = of_items.filter(pl.col("run_id").is_in([run.run_id for run in same]))
        rows += [Row(key, *row) for row in (*many_flow_rows(same), *_item_rows(own), *_cca_shares(same))]
        for direction, word in DIRECTION.items():
            rows += [row for row in _rows(key, same, direction, word) if row.values.n]
    return Table(tuple(by), tuple(rows))


def to_csv(table: Table) -> str:
    """The table for other programs, every digit of it; an empty cell is a value that is not known."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        [*table.axes, "quantity", "unit", "over", "n", "median", "low", "high", "iqr", "p95", "p99", "max",
         "mean", "std"]
    )  # fmt: skip
    for row in table.rows:
        of, sure = row.values, row.values.median_interval
        writer.writerow(
            [*row.condition, row.quantity, row.unit, row.over, of.n, of.median, sure and sure.low,
             sure and sure.high, of.iqr, of.p95, of.p99, of.maximum, of.mean, of.std]
        )  # fmt: skip
    return out.getvalue()


def _item_rows(table: pl.DataFrame) -> Iterator[tuple[str, str, str, Distribution]]:
    """What each item got, and what it says of itself (`narrows.comparing.items`)."""
    what = ["whose", "words", "direction", "quantity", "unit"]
    for (whose, words, direction, figure, unit), rows in table.group_by(what, maintain_order=True):
        scale, shown = told(str(figure), str(unit))
        way = f", {DIRECTION[str(direction)]}" if direction else ""
        yield f"{whose}: {words}{way}", shown, "runs", distribution([v * scale for v in rows["value"]])


def _used(run: Observed, direction: str) -> float | None:
    """In percent: what all items that load the direction took of the bottleneck's rate; of one alone its
    payload over the largest possible."""
    loads, window = loaded.loaders(run, direction), loaded.window(run, direction)
    truth = run.truth(direction)
    if len(loads) > 1 and truth is not None and window is not None:
        series, counted = truth.throughput_bps.get(""), shaper(run.plan, direction).counted
        if (
            series is None
            or run.divided_bps(direction) is None
            or (counted is not None and counted != wire.FRAME)
        ):
            return None
        return 100 * mean_rate(series, window) / run.capacity_bps(direction, window)
    used = loaded.used(run, direction)
    return None if used is None else 100 * used


def _sojourn_p99_ms(run: Observed, direction: str) -> float | None:
    """A time that a packet had; of a run without that figure the upper edge of its histogram's bucket."""
    exact = run.figure(run.bottleneck(direction), "sojourn_p99_ms", direction)
    truth = run.truth(direction)
    if exact is not None or truth is None:
        return exact
    return weighted_quantile(truth.sojourn_ms, truth.sojourn_packets, 0.99)


def _rows(key: tuple[str, ...], same: Sequence[Observed], direction: str, word: str) -> list[Row]:
    there = [r for r in same if loaded.reads(r, direction)]
    mbps = [rate / 1e6 for r in there if (rate := loaded.goodput_bps(r, direction)) is not None]
    probed = [loaded.probe_rtts_ms(r, direction) for r in same]
    steady = [coefficient_of_variation(loaded.throughput_bps(r, direction).value) for r in same]
    added = [
        working_latency(rtt, loaded.probe_rtts_ms(r, loaded.IDLE))
        for r, rtt in zip(same, probed, strict=True)
    ]
    share = [_used(r, direction) for r in there]
    rows = [g for r in same if (g := loaded.probe_glitches(r, direction)) is not None]
    wobble = [jitter(rtt) for rtt in probed if rtt.size]
    least = [r.figure(r.tested, "ndt7_min_rtt_ms", direction) for r in same if r.tested]
    truths = [truth for r in same if (truth := r.truth(direction)) is not None]
    tails = [_sojourn_p99_ms(r, direction) for r in same]
    drops = [
        100 * t.dropped_packets / (t.departed_packets + t.dropped_packets)
        for t in truths
        if t.dropped_packets is not None and t.departed_packets
    ]
    return [
        Row(
            key,
            f"{word} throughput",
            "Mbit/s",
            "runs",
            distribution(mbps),
        ),
        Row(key, f"{word} utilisation", "%", "runs", distribution(share)),
        Row(key, f"{word} variation of throughput, 10 ms bins", "1", "runs", distribution(steady)),
        Row(
            key,
            f"{word} RTT of the test",
            "ms",
            "samples",
            distribution(pooled(clean(r.rtts_ms[direction].value) for r in same if direction in r.rtts_ms)),
        ),
        Row(
            key,
            f"{word} MinRTT (the tool's latency)",
            "ms",
            "runs",
            distribution(least),
        ),
        Row(key, f"{word} probe RTT", "ms", "probes", distribution(pooled(probed))),
        Row(key, f"{word} working latency (probe)", "ms", "runs", distribution(added)),
        Row(key, f"{word} jitter (probe)", "ms", "runs", distribution(wobble)),
        Row(key, f"{word} glitches", "1/min", "runs", distribution([g.per_minute for g in rows])),
        Row(key, f"{word} sojourn p99 of the run", "ms", "runs", distribution(tails)),
        Row(key, f"{word} drop share, whole run", "%", "runs", distribution(drops)),
    ]


def _cca_shares(same: Sequence[Observed]) -> list[tuple[str, str, str, Distribution]]:
    """Shares of ordinary flows by CCA; the direction is named where both have some."""
    cca_shares: dict[tuple[str, str], list[float]] = {}
    for run in same:
        for (source, way, name), value in run.figures.items():
            if name == CCA_SHARE and way is not None and run.many is None:
                cca_shares.setdefault((way, source.partition("/")[2]), []).append(100 * value)
    both = len({way for way, _ in cca_shares}) > 1
    return [
        (f"{DIRECTION[way]} share of {cca}" if both else f"share of {cca}", "%", "runs", distribution(values))
        for (way, cca), values in sorted(cca_shares.items())
    ]
