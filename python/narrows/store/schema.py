"""Columns and types of the store's tables, and how a frame becomes one of their Parquet files.

docs/data.md is the same for people. This module knows nothing of where the values come from.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

DIRECTION = pl.Enum(["down", "up"])
EVENT = pl.Enum(["arrive", "mark", "depart", "drop"])
# Few distinct values in many rows: Parquet stores them as a dictionary, Polars as numbers.
LABEL = pl.Categorical()

Schema = dict[str, Any]

METRICS: Schema = {
    "run_id": LABEL,
    "source": LABEL,
    "direction": DIRECTION,
    "name": LABEL,
    "value": pl.Float64(),
    "unit": LABEL,
}
SAMPLES: Schema = {
    "run_id": LABEL,
    "source": LABEL,
    "direction": DIRECTION,
    "series": LABEL,
    "flow": LABEL,
    "t_ns": pl.Int64(),
    "value": pl.Float64(),
    "unit": LABEL,
}
QUEUE: Schema = {
    "run_id": LABEL,
    "hop": LABEL,
    "direction": DIRECTION,
    "t_ns": pl.Int64(),
    "event": EVENT,
    "flow": pl.UInt32(),
    "bytes": pl.UInt32(),
    "backlog_bytes": pl.UInt32(),
    "backlog_packets": pl.UInt32(),
    "sojourn_ns": pl.Int64(),
    "reason": LABEL,
}
SOJOURN: Schema = {
    "run_id": LABEL,
    "hop": LABEL,
    "direction": DIRECTION,
    "item": LABEL,
    "lower_ns": pl.Int64(),
    "upper_ns": pl.Int64(),
    "packets": pl.Int64(),
}
FLOWS: Schema = {
    "run_id": LABEL,
    "hop": LABEL,
    "direction": DIRECTION,
    "flow": pl.UInt32(),
    "label": pl.String(),
    "protocol": LABEL,
    "src": pl.String(),
    "sport": pl.UInt16(),
    "dst": pl.String(),
    "dport": pl.UInt16(),
    "item": LABEL,
    "first_ns": pl.Int64(),
    "last_ns": pl.Int64(),
    "arrived_packets": pl.Int64(),
    "arrived_bytes": pl.Int64(),
    "departed_packets": pl.Int64(),
    "departed_bytes": pl.Int64(),
    "dropped_packets": pl.Int64(),
    "dropped_bytes": pl.Int64(),
    "marked_packets": pl.Int64(),
    "queued_packets": pl.Int64(),
}
TABLES: dict[str, Schema] = {
    "metrics": METRICS,
    "samples": SAMPLES,
    "queue": QUEUE,
    "sojourn": SOJOURN,
    "flows": FLOWS,
}


def empty(table: str) -> pl.DataFrame:
    """The table without rows."""
    return pl.DataFrame(schema=TABLES[table])


def conform(frame: pl.DataFrame, table: str, constants: Mapping[str, Any] | None = None) -> pl.DataFrame:
    """The frame with exactly the table's columns and types; `constants` and NULL fill the missing ones.

    A column that the table does not have is a defect of the caller.
    """
    schema = TABLES[table]
    constants = constants or {}
    unknown = set(frame.columns) - set(schema)
    if unknown:
        raise ValueError(f"table {table} has no column {', '.join(sorted(unknown))}")
    columns = []
    for name, dtype in schema.items():
        if name in frame.columns:
            columns.append(pl.col(name).cast(dtype))
        else:
            columns.append(pl.lit(constants.get(name), dtype=pl.String).cast(dtype).alias(name))
    return frame.select(columns)


def concat(frames: Iterable[pl.DataFrame], table: str) -> pl.DataFrame:
    """All frames as one table; none is a table without rows."""
    parts = [frame for frame in frames if frame.height]
    return pl.concat(parts) if parts else empty(table)


def write(frame: pl.DataFrame, path: Path) -> None:
    """One Parquet file, zstd. A full disk is an OSError, however Polars calls it."""
    try:
        frame.write_parquet(path, compression="zstd", compression_level=3)
    except pl.exceptions.PolarsError as error:
        if "space" in str(error) or "quota" in str(error).lower():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise
