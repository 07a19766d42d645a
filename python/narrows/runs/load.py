"""Reads stored runs into `Observed`, light first: series from the tap are read again only when a figure asks.

Failed runs come too, with their error and without numbers. `narrows.runs.find` looks for them in several
places.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import narrows.store.results as store
from narrows.errors import NarrowsError, StoreError
from narrows.plan.model import Plan
from narrows.runs import archive, windows
from narrows.runs.gather import SERIES_OF_TRUTH, RunTables, as_text, gather
from narrows.runs.load_many import reader
from narrows.runs.observed import Observed
from narrows.runs.plans import read_plan
from narrows.store import damaged, parquet

_LIGHT = ("tcp_info.rtt", "rtt", "app_info.num_bytes", "app_info.elapsed_time", *windows.SERIES)


def load(directory: Path, progress: Callable[[int], None] | None = None) -> list[Observed]:
    """All runs of a directory of results that were not made again later, in the order of their ids; or those
    of a shard. Runs that were imported have no plan, so nothing could be said of them, and are left out; so
    is what cannot be read, which is noted (`narrows.store.damaged`)."""
    damaged.forget(directory)
    if directory.name.endswith(archive.SUFFIX):
        try:
            return archive.read(directory)
        except StoreError as error:
            damaged.leave_out(directory, error)
            return []
    results = store.open(directory)
    runs = []
    known, newer = {*results.run_ids, *results.failed_ids}, results.newer()
    for run_id in sorted(known - newer.keys() - results.imported):
        run = load_one(results, run_id)
        if run is not None:
            older = tuple(sorted(old for old, new in newer.items() if new == run_id))
            runs.append(replace(run, older=older) if older else run)
        if progress is not None:
            progress(len(runs))
    return runs


def _whole(folder: Path, plan: Plan, manifest: Mapping[str, Any]) -> Observed:
    run = gather(_tables(folder, plan, manifest), _again(folder))
    return replace(run, read_many=reader(folder, plan), folder=folder)


def load_one(results: store.Results, run_id: str) -> Observed | None:
    """One run of a directory; None where it cannot be read, which is noted."""
    manifest, folder = results.manifest(run_id), results.run_directory(run_id)
    try:
        plan = read_plan(folder)
        return _whole(folder, plan, manifest) if manifest["status"] == "ok" else failed(manifest, plan)
    except NarrowsError as error:
        damaged.leave_out(folder, error)
    except Exception as error:  # whatever is wrong in its files, it costs itself
        told = str(error).strip().splitlines() or [""]
        damaged.leave_out(folder, f"{type(error).__name__}: {told[0]}")
    return None


def failed(manifest: Mapping[str, Any], plan: Plan) -> Observed:
    """A run that did not end well: its conditions and its error."""
    error = manifest.get("error") or {}
    return Observed(
        run_id=str(manifest["run_id"]),
        experiment=plan.experiment,
        question=plan.question,
        key=dict(manifest.get("key") or plan.key),
        status="failed",
        error=str(error.get("line") or error.get("message") or "no error message was stored"),
        plan=plan,
        manifest=manifest,
    )


def _samples(folder: Path, rows: pl.Expr) -> pl.DataFrame:
    return as_text(parquet.scan(folder / "samples.parquet").filter(rows)).collect()


def _again(folder: Path) -> Callable[[str, str], pl.DataFrame]:
    """The tap's series are large, and read when somebody asks for them."""
    wanted = pl.col("quantity").is_in(SERIES_OF_TRUTH)
    return lambda hop, way: _samples(folder, wanted & (pl.col("hop") == hop) & (pl.col("direction") == way))


def _tables(folder: Path, plan: Plan, manifest: Mapping[str, Any]) -> RunTables:
    whole = {
        name: as_text(parquet.scan(folder / f"{name}.parquet")).collect() for name in ("metrics", "sojourn")
    }
    return RunTables(plan, manifest, samples=_samples(folder, pl.col("quantity").is_in(_LIGHT)), **whole)
