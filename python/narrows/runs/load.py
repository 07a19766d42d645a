"""Reads stored runs into `Observed`, light first: series from the tap are read again only when a figure asks.

Failed runs come too, with their error and without numbers. `narrows.runs.find` looks for them in several
places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import narrows.store.results as store
from narrows.plan.model import Plan
from narrows.runs import archive, loaders
from narrows.runs.gather import RunTables, gather
from narrows.runs.load_many import reader
from narrows.runs.observed import Observed
from narrows.runs.plans import read_plan
from narrows.store import parquet

_LIGHT = ("tcp_info.rtt", "rtt", "app_info.num_bytes", "app_info.elapsed_time", *loaders.SERIES)
_TABLES = ("metrics", "samples", "sojourn")


def load(directory: Path) -> list[Observed]:
    """All runs of a directory of results that were not made again later, in the order of their ids; or those
    of a shard. Runs that were imported have no plan, so nothing could be said of them, and are left out."""
    if directory.name.endswith(archive.SUFFIX):
        return archive.read(directory)
    results = store.open(directory)
    whole = set(results.run_ids)
    runs = []
    for run_id in sorted(set(results.runs()["run_id"]) - results.superseded() - results.imported):
        manifest, folder = results.manifest(run_id), results.run_directory(run_id)
        plan = read_plan(folder)
        if run_id in whole:
            run = gather(_tables(folder, plan, manifest, light=True), _again(folder, plan, manifest))
            runs.append(replace(run, read_many=reader(folder, plan), folder=folder))
        else:
            runs.append(failed(manifest, plan))
    return runs


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


def _again(folder: Path, plan: Plan, manifest: Mapping[str, Any]) -> Callable[[], RunTables]:
    return lambda: _tables(folder, plan, manifest, light=False)


def _tables(folder: Path, plan: Plan, manifest: Mapping[str, Any], *, light: bool) -> RunTables:
    frames = {}
    for name in _TABLES:
        frame = parquet.scan(folder / f"{name}.parquet")
        if light and name == "samples":
            frame = frame.filter(pl.col("series").is_in(_LIGHT))
        frames[name] = frame.collect()
    return RunTables(plan=plan, manifest=manifest, **frames)
