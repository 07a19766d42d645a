"""Columns and types of the store's tables, and how a frame becomes one of their Parquet files.

docs/data.md is the same for people. This module knows nothing of where the values come from.
"""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
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
    "item": LABEL,
    "part": LABEL,
    "hop": LABEL,
    "direction": DIRECTION,
    "flow": LABEL,
    "quantity": LABEL,
    "value": pl.Float64(),
    "unit": LABEL,
}
SAMPLES: Schema = {
    "run_id": LABEL,
    "item": LABEL,
    "part": LABEL,
    "hop": LABEL,
    "direction": DIRECTION,
    "flow": LABEL,
    "quantity": LABEL,
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
TCP_FLOWS: Schema = {
    "run_id": LABEL,
    "direction": DIRECTION,
    "node": LABEL,
    "flow": pl.UInt32(),
    "label": pl.String(),
    "src": pl.String(),
    "sport": pl.UInt16(),
    "dst": pl.String(),
    "dport": pl.UInt16(),
    "item": LABEL,
    "cca": LABEL,
    "ecn": pl.Boolean(),
    "sack": pl.Boolean(),
    "born_ns": pl.Int64(),
    "died_ns": pl.Int64(),
    "start_ns": pl.Int64(),
    "stop_ns": pl.Int64(),
    "bytes_acked": pl.Int64(),
    "bytes_sent": pl.Int64(),
    "bytes_retrans": pl.Int64(),
    "data_packets_sent": pl.Int64(),
    "retransmitted_packets": pl.Int64(),
    "delivered_packets": pl.Int64(),
    "delivered_ce_packets": pl.Int64(),
    "lost_packets": pl.Int64(),
    "recoveries": pl.Int64(),
    "timeouts": pl.Int64(),
    "cwrs": pl.Int64(),
    "tlps": pl.Int64(),
    "reductions": pl.Int64(),
    "undos": pl.Int64(),
    "srtt_us": pl.Int64(),
    "min_rtt_us": pl.Int64(),
    "cwnd_packets": pl.Int64(),
    "ssthresh_packets": pl.Int64(),
    "mss_bytes": pl.Int64(),
    "srtt_mean_us": pl.Float64(),
}
TCP_EVENTS: Schema = {
    "run_id": LABEL,
    "flow": pl.UInt32(),
    "t_ns": pl.Int64(),
    "kind": LABEL,
    "from_state": LABEL,
    "reduction": pl.Boolean(),
    "cwnd_before": pl.UInt32(),
    "cwnd_after": pl.UInt32(),
    "in_flight_packets": pl.UInt32(),
    "lost_packets": pl.UInt32(),
}
TCP_SAMPLES: Schema = {
    "run_id": LABEL,
    "flow": pl.UInt32(),
    "t_ns": pl.Int64(),
    "bytes_acked": pl.Int64(),
    "srtt_us": pl.UInt32(),
    "cwnd_packets": pl.UInt32(),
}
MEDIA: Schema = {
    "run_id": LABEL,
    "direction": DIRECTION,
    "entered_ns": pl.Int64(),
    "sent_ns": pl.Int64(),
    "left_ns": pl.Int64(),
    "turn": pl.UInt32(),
    "bytes": pl.UInt32(),
    "tries": pl.UInt8(),
    "outcome": LABEL,
}
TABLES: dict[str, Schema] = {
    "metrics": METRICS,
    "samples": SAMPLES,
    "queue": QUEUE,
    "sojourn": SOJOURN,
    "flows": FLOWS,
    "tcp_flows": TCP_FLOWS,
    "tcp_events": TCP_EVENTS,
    "tcp_samples": TCP_SAMPLES,
    "media": MEDIA,
}


def empty(table: str) -> pl.DataFrame:
    return pl.DataFrame(schema=TABLES[table])


def conform(
    frame: pl.DataFrame, table: str, constants: Mapping[str, str | None] | None = None
) -> pl.DataFrame:
    """The frame with exactly the table's columns and types; `constants` and NULL fill the missing ones.

    A column that the table does not have is a defect of the caller. Built of columns, without a query: a run
    has a hundred small frames, and a query costs more than their rows.
    """
    schema = TABLES[table]
    constants = constants or {}
    unknown = set(frame.columns) - set(schema)
    if unknown:
        raise ValueError(f"table {table} has no column {', '.join(sorted(unknown))}")
    return pl.DataFrame(
        [
            frame.get_column(name).cast(dtype)
            if name in frame.columns
            else _constant(constants.get(name), dtype).new_from_index(0, frame.height).alias(name)
            for name, dtype in schema.items()
        ]
    )


@lru_cache(maxsize=4096)
def _constant(value: str | None, dtype: Any) -> pl.Series:
    return pl.Series([value], dtype=pl.String).cast(dtype)


def filled(frame: pl.DataFrame, constants: Mapping[str, str | None]) -> pl.DataFrame:
    """A conformed frame, in which the columns that hold nothing have these values."""
    columns = [
        _constant(constants[s.name], s.dtype).new_from_index(0, frame.height).alias(s.name)
        if constants.get(s.name) is not None and s.null_count() == frame.height
        else s
        for s in frame.get_columns()
    ]
    return pl.DataFrame(columns)


def concat(frames: Iterable[pl.DataFrame], table: str) -> pl.DataFrame:
    """All frames as one table; none is a table without rows."""
    parts = [frame for frame in frames if frame.height]
    return pl.concat(parts) if parts else empty(table)


def write(frame: pl.DataFrame, path: Path) -> None:
    """One Parquet file, zstd. A full disk is an OSError, however Polars calls it."""
    with _disk(path):
        frame.write_parquet(path, compression="zstd", compression_level=3)


def sink(frame: pl.LazyFrame, path: Path) -> None:
    """The same of a table that need not fit into memory."""
    with _disk(path):
        frame.sink_parquet(path, compression="zstd", compression_level=3)


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except pl.exceptions.PolarsError as error:
        if "space" in str(error) or "quota" in str(error).lower():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise
