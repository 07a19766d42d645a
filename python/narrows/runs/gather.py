"""Gathers one run's stored tables into `Observed`; the only place that knows their names (docs/data.md).

Reads no file: the caller hands it the tables. What a table does not hold becomes None, NaN or an absent
entry.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from narrows.metrics.statistics.arrays import Floats
from narrows.plan.items import Command, TrafficItem
from narrows.plan.model import Plan
from narrows.runs.observed import (
    DIRECTIONS,
    Observed,
    Probe,
    QueueTruth,
    Series,
    is_background,
    is_probe,
    load_of,
)
from narrows.runs.quantities import Measured
from narrows.runs.windows import windows
from narrows.store.whose import Name, Whose, of_part
from narrows.units import NS_PER_MS, US_PER_MS


@dataclass(frozen=True)
class RunTables:
    """The stored tables of one run, plus its plan and manifest. Words in them are text (`as_text`)."""

    plan: Plan
    manifest: Mapping[str, Any]
    metrics: pl.DataFrame
    samples: pl.DataFrame
    sojourn: pl.DataFrame


TRUTHS_KEPT = 512
"""So many queue truths (run and direction) are kept, each well below a megabyte; thousands would not fit."""


@lru_cache(maxsize=TRUTHS_KEPT)
def _kept(make: Callable[[str], QueueTruth | None], direction: str) -> QueueTruth | None:
    return make(direction)


class _Lazy(Mapping[str, QueueTruth]):
    """Queue truth made when asked for: figures ask for the same runs, one after another."""

    def __init__(self, directions: tuple[str, ...], make: Callable[[str], QueueTruth | None]) -> None:
        self._directions = directions
        self._make = make

    def __getitem__(self, direction: str) -> QueueTruth:
        truth = _kept(self._make, direction) if direction in self._directions else None
        if truth is None:
            raise KeyError(direction)
        return truth

    def __contains__(self, direction: object) -> bool:
        return direction in self._directions  # without reading its series

    def __iter__(self) -> Iterator[str]:
        return iter(self._directions)

    def __len__(self) -> int:
        return len(self._directions)


def gather(tables: RunTables, reread: Callable[[str, str], pl.DataFrame] | None = None) -> Observed:
    """Everything one run showed. With `reread`, the tap's series of a hop and direction (rows of `samples`)
    are read when they are asked for."""
    plan, manifest = tables.plan, tables.manifest
    error = manifest.get("error")
    names = tuple(dict.fromkeys(h.hop for h in plan.hops if h.tap != "off"))
    figures, units = _figures(tables.metrics)
    places = {name: _queues(tables, figures, name, reread) for name in names}
    run = Observed(
        run_id=str(manifest["run_id"]),
        experiment=plan.experiment,
        question=plan.question,
        key=dict(manifest.get("key") or plan.key),
        status=str(manifest["status"]),
        error=None if not error else str(error.get("message", error)),
        plan=plan,
        manifest=manifest,
        probes=_probes(tables, plan.traffic),
        queues=places[names[0]] if names else {},
        places=places,
        idle=_idle(plan, manifest),
        warnings=tuple(str(w) for w in manifest.get("warnings") or ()),
        figures=figures,
        units=units,
    )
    run = replace(
        run, windows=windows(plan, manifest, run.figures, tables.samples), rtts_ms=_rtts(tables, run.tested)
    )
    return replace(run, read_quantities=lambda: Measured(run))


def _queues(
    tables: RunTables,
    figures: Mapping[Name, float],
    hop: str,
    reread: Callable[[str, str], pl.DataFrame] | None,
) -> Mapping[str, QueueTruth]:
    """The truth of a hop, by direction."""
    there = {h.direction for h in tables.plan.hops if h.hop == hop and h.tap != "off"}
    directions = tuple(d for d in DIRECTIONS if d in there)
    if reread is None:
        queues = {d: _truth(tables, figures, hop, d) for d in directions}
        return {d: t for d, t in queues.items() if t is not None}
    again = reread
    seen = {name.direction for name in figures if name.whose.hop == hop}
    present = tuple(d for d in directions if d in seen)
    return _Lazy(present, lambda d: _truth(replace(tables, samples=again(hop, d)), figures, hop, d))


def _figures(metrics: pl.DataFrame) -> tuple[dict[Name, float], dict[str, str]]:
    """Every figure, and units by quantity. Of columns, without a query: a page reads a thousand runs."""
    columns = ("quantity", "direction", "value", "unit", *Whose._fields)
    rows = zip(*(metrics.get_column(name).to_list() for name in columns), strict=True)
    figures, units = {}, {}
    for quantity, way, value, unit, *whose in rows:
        units[quantity] = unit
        if value is not None:
            figures[Name(quantity, way, Whose(*whose))] = value
    return figures, units


def as_text(table: pl.LazyFrame) -> pl.LazyFrame:
    """A stored table: the store keeps repeated words as categories; here they are text."""
    return table.with_columns(cs.categorical().cast(pl.String))


def _series(rows: pl.DataFrame, scale: float = 1.0) -> Series:
    ordered = rows.sort("t_ns", maintain_order=True)
    value = ordered["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return Series(ordered["t_ns"].cast(pl.Float64).to_numpy(), np.asarray(value / scale, dtype=np.float64))


def of(whose: Whose) -> pl.Expr:
    """The rows that are of exactly that."""
    wanted = whose._asdict().items()
    return pl.all_horizontal(pl.col(name).eq_missing(pl.lit(value)) for name, value in wanted)


def _rtts(tables: RunTables, tested: str | None) -> dict[str, Series]:
    """By direction, as the server of the speed test says."""
    tools = (item.tool for item in tables.plan.traffic if isinstance(item, Command) and item.id == tested)
    series = next((load.rtt for tool in tools if (load := load_of(tool))), None)
    found: dict[str, Series] = {}
    if series is None:
        return found
    for way in DIRECTIONS:
        there = of(Whose(tested, "server")) & (pl.col("direction") == way)
        rows = tables.samples.filter(there, pl.col("quantity") == series)
        if not rows.is_empty():
            found[way] = _series(rows, US_PER_MS)
    return found


def _probes(tables: RunTables, items: Sequence[TrafficItem]) -> dict[str, Probe]:
    probes = {}
    for item in items:
        if not is_probe(item):
            continue
        whose = of_part(item)
        rows = tables.samples.filter(of(whose), pl.col("quantity") == "rtt")
        if not rows.is_empty():
            probes[item.id] = Probe(whose, item.interval_ns / NS_PER_MS, _series(rows, NS_PER_MS))
    return probes


def _idle(plan: Plan, manifest: Mapping[str, Any]) -> tuple[int, int] | None:
    """From t = 0 to the first start of anything that loads the path; None when nothing idle was observed."""
    started = manifest.get("items") or {}
    loading = [
        (started.get(item.id) or {}).get("start_ns")
        for item in plan.traffic
        if not is_probe(item) and not is_background(item)
    ]
    known = [int(t) for t in loading if t is not None]
    return (0, min(known)) if known and min(known) > 0 else None


def _histogram(rows: pl.DataFrame) -> tuple[Floats, Floats]:
    """Upper edges in ms, packets."""
    # A bucket of one nanosecond holds its lower edge alone: 0, where nothing waited.
    edge = pl.when(pl.col("upper_ns") - pl.col("lower_ns") == 1).then("lower_ns").otherwise("upper_ns")
    edges = rows.select(edge.cast(pl.Float64)).to_series().to_numpy() / NS_PER_MS
    return edges, rows["packets"].cast(pl.Float64).to_numpy()


SERIES_OF_TRUTH = ("throughput_10ms", "sojourn_p50_10ms", "sojourn_p99_10ms", "drops_10ms")
COUNTED = ("tap_departed", "tap_dropped", "tap_marked")


def _truth(tables: RunTables, counted: Mapping[Name, float], hop: str, direction: str) -> QueueTruth | None:
    rows = tables.samples.filter(pl.col("hop") == hop, pl.col("direction") == direction)
    if rows.is_empty():
        return None
    rate = rows.filter((pl.col("quantity") == "throughput_10ms") & pl.col("flow").is_null())
    name = pl.coalesce("part", "item", pl.lit("")).alias("name")
    throughput = {
        str(part): _series(own)
        for (part,), own in rate.with_columns(name)
        .sort("name", maintain_order=True)
        .group_by("name", maintain_order=True)
    }
    own = rows.filter(pl.col("item").is_null())
    figures = {name: counted.get(Name(name, direction, Whose(hop=hop))) for name in COUNTED}
    here = tables.sojourn.filter((pl.col("hop") == hop) & (pl.col("direction") == direction))
    histogram = here.filter(pl.col("item").is_null()).sort("upper_ns")
    items = here["item"].drop_nulls().unique().sort()
    return QueueTruth(
        hop=hop,
        direction=direction,
        throughput_bps=throughput,
        sojourn_ms=_histogram(histogram)[0],
        sojourn_packets=_histogram(histogram)[1],
        sojourn_p50_ms=_series(own.filter(pl.col("quantity") == "sojourn_p50_10ms"), NS_PER_MS),
        sojourn_p99_ms=_series(own.filter(pl.col("quantity") == "sojourn_p99_10ms"), NS_PER_MS),
        drops=_series(own.filter(pl.col("quantity") == "drops_10ms")),
        departed_packets=figures["tap_departed"],
        dropped_packets=figures["tap_dropped"],
        marked_packets=figures["tap_marked"],
        sojourn_of={item: _histogram(here.filter(pl.col("item") == item).sort("upper_ns")) for item in items},
    )
