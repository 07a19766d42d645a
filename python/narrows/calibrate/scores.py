"""The table `score` of a directory of results: worked out when first asked for, kept beside each run.

DIR/<run id>/score.parquet holds the rows, and in its metadata which code of the metrics and which item under
test they are of. A file of another code is made again: a changed definition never mixes with an old number.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

import narrows.metrics
from narrows.engine import layout
from narrows.metrics.score import A_DELAY, SCORE, score
from narrows.store.results import Results

FILE = "score.parquet"
MADE_BY = "narrows_scorer"
SERIES = ("source", "series", "direction", "flow", "t_ns", "value", "unit")
DEPARTURES = ("hop", "direction", "t_ns", "flow", "bytes", "sojourn_ns")


def scores(
    results: Results,
    item_of: Callable[[Mapping[str, Any]], str | None],
    progress: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    """Rows of all whole runs. `item_of` names the item under test of a plan; None: the run has none."""
    frames = []
    for run in results.run_ids:
        frame = of_run(results.run_directory(run), run, item_of)
        if frame is not None:
            frames.append(frame)
        if progress is not None:
            progress(run)
    return pl.concat(frames) if frames else pl.DataFrame(schema=SCORE)


def of_run(folder: Path, run: str, item_of: Callable[[Mapping[str, Any]], str | None]) -> pl.DataFrame | None:
    """One run's rows, from its file if that is of this code; None where there is nothing under test."""
    plan = json.loads((folder / layout.PLAN).read_bytes())
    test = item_of(plan)
    if test is None:
        return None
    path, made_by = folder / FILE, f"{version()} {test}"
    if path.exists() and pl.read_parquet_metadata(path).get(MADE_BY) == made_by:
        return pl.read_parquet(path)
    frame = score(run, plan, *_tables(folder), test)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    frame.write_parquet(temporary, compression="zstd", metadata={MADE_BY: made_by})
    os.replace(temporary, path)
    return frame


def _tables(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Only the columns and rows that metrics read: a queue table has many times more."""
    samples = pl.scan_parquet(folder / "samples.parquet").select(SERIES)
    samples = samples.filter(pl.col("series").cast(pl.String).str.contains("|".join(A_DELAY)))
    queue = pl.scan_parquet(folder / "queue.parquet").filter(pl.col("event").cast(pl.String) == "depart")
    flows = pl.scan_parquet(folder / "flows.parquet")
    return samples.collect(), queue.select(DEPARTURES).collect(), flows.collect()


@cache
def version() -> str:
    """Which code worked the numbers out: a hash of the sources of the metrics."""
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources() -> Iterable[Path]:
    return Path(narrows.metrics.__path__[0]).glob("*.py")
