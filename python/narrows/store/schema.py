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


def _of(dtype: Any, names: str) -> Schema:
    """Columns of one type."""
    return dict.fromkeys(names.split(), dtype)


_INTS, _COUNTS, _WAY = pl.Int64(), pl.UInt32(), {"direction": DIRECTION}
_OF_ITEMS: Schema = _of(LABEL, "run_id item part hop") | _WAY | _of(LABEL, "flow quantity")
_OF_HOPS: Schema = _of(LABEL, "run_id hop") | _WAY
_VALUE: Schema = {"value": pl.Float64(), "unit": LABEL}
_ENDS: Schema = {"src": pl.String(), "sport": pl.UInt16(), "dst": pl.String(), "dport": pl.UInt16()}
TABLES: dict[str, Schema] = {
    "metrics": _OF_ITEMS | _VALUE,
    "samples": _OF_ITEMS | {"t_ns": _INTS} | _VALUE,
    "queue": _OF_HOPS
    | {"t_ns": _INTS, "event": EVENT}
    | _of(_COUNTS, "flow bytes backlog_bytes backlog_packets")
    | {"sojourn_ns": _INTS, "reason": LABEL},
    "sojourn": _OF_HOPS | {"item": LABEL} | _of(_INTS, "lower_ns upper_ns packets"),
    "flows": _OF_HOPS
    | {"flow": _COUNTS, "label": pl.String(), "protocol": LABEL, **_ENDS, "item": LABEL}
    | _of(_INTS, "first_ns last_ns arrived_packets arrived_bytes departed_packets departed_bytes")
    | _of(_INTS, "dropped_packets dropped_bytes marked_packets queued_packets"),
    "tcp_flows": {"run_id": LABEL, **_WAY, "node": LABEL, "flow": _COUNTS, "label": pl.String(), **_ENDS}
    | {"item": LABEL, "cca": LABEL, "ecn": pl.Boolean(), "sack": pl.Boolean()}
    | _of(_INTS, "born_ns died_ns start_ns stop_ns bytes_acked bytes_sent bytes_retrans")
    | _of(_INTS, "data_packets_sent retransmitted_packets delivered_packets delivered_ce_packets")
    | _of(_INTS, "lost_packets recoveries timeouts cwrs tlps reductions undos srtt_us min_rtt_us")
    | _of(_INTS, "cwnd_packets ssthresh_packets mss_bytes")
    | {"srtt_mean_us": pl.Float64()},
    "tcp_events": {"run_id": LABEL, "flow": _COUNTS, "t_ns": _INTS, "kind": LABEL, "from_state": LABEL}
    | {"reduction": pl.Boolean()}
    | _of(_COUNTS, "cwnd_before cwnd_after in_flight_packets lost_packets"),
    "tcp_samples": {"run_id": LABEL, "flow": _COUNTS, "t_ns": _INTS, "bytes_acked": _INTS}
    | _of(_COUNTS, "srtt_us cwnd_packets"),
    "media": {"run_id": LABEL, **_WAY}
    | _of(_INTS, "entered_ns sent_ns left_ns")
    | {"turn": _COUNTS, "bytes": _COUNTS, "tries": pl.UInt8(), "outcome": LABEL},
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
    if unknown := set(frame.columns) - set(schema):
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
