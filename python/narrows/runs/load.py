"""Reads stored runs into `Observed`, light first: series from the tap are read again only when a figure asks.

Failed runs come too, with their error and without numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

import narrows.store.results as store
from narrows.runs import archive, loads
from narrows.runs.gather import RunTables, gather
from narrows.runs.load_many import reader
from narrows.runs.observed import Observed

_LIGHT = ("tcp_info.rtt", "rtt", "app_info.num_bytes", "app_info.elapsed_time", *loads.SERIES)
_TABLES = ("metrics", "samples", "sojourn")


def load(directory: Path) -> list[Observed]:
    """All runs of a directory of results that were not made again later, in the order of their ids; or those
    of an archive."""
    if directory.name.endswith(archive.SUFFIX):
        return archive.read(directory)
    results = store.open(directory)
    whole = set(results.run_ids)
    runs = []
    for run_id in sorted(set(results.runs()["run_id"]) - results.superseded()):
        manifest, folder = results.manifest(run_id), results.run_directory(run_id)
        plan = _plan(folder, manifest)
        if run_id in whole:
            run = gather(_tables(folder, plan, manifest, light=True), _again(folder, plan, manifest))
            runs.append(replace(run, read_many=reader(folder, plan)))
        else:
            runs.append(failed(manifest, plan))
    return runs


def failed(manifest: Mapping[str, Any], plan: Mapping[str, Any]) -> Observed:
    """A run that did not end well: its conditions and its error."""
    error = manifest.get("error") or {}
    return Observed(
        run_id=str(manifest["run_id"]),
        experiment=str(manifest.get("experiment")),
        question=str(manifest.get("question") or ""),
        key=dict(manifest.get("key") or {}),
        status="failed",
        error=str(error.get("line") or error.get("message") or "no error message was stored"),
        plan=plan,
        manifest=manifest,
    )


def _again(folder: Path, plan: Mapping[str, Any], manifest: Mapping[str, Any]) -> Callable[[], RunTables]:
    return lambda: _tables(folder, plan, manifest, light=False)


def _plan(folder: Path, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    path = folder / "plan.json"
    if path.exists():
        plan: Mapping[str, Any] = json.loads(path.read_bytes())
        return plan
    # A run that failed very early: what its manifest says is enough to list it.
    return {
        "experiment": manifest.get("experiment"),
        "question": manifest.get("question"),
        "key": manifest.get("key") or {},
        "link": manifest.get("link") or {},
        "machine": {"timer_latency": None},
        "nodes": [],
        "setup": [],
        "hops": [],
        "traffic": [],
    }


def _tables(folder: Path, plan: Mapping[str, Any], manifest: Mapping[str, Any], *, light: bool) -> RunTables:
    frames = {}
    for name in _TABLES:
        frame = pl.scan_parquet(folder / f"{name}.parquet")
        if light and name == "samples":
            frame = frame.filter(pl.col("series").is_in(_LIGHT))
        frames[name] = frame.collect()
    return RunTables(
        plan=plan,
        manifest=manifest,
        metrics=frames["metrics"],
        samples=frames["samples"],
        sojourn=frames["sojourn"],
    )
