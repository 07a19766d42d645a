"""Loads what was read from packet logs as Polars frames. It computes nothing."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from narrows.errors import StoreError
from narrows.store import parquet

TABLES = ("connections", "sessions", "limits", "acks", "snapshots", "udp", "udp_seconds", "rtp")
REMEDY = "narrows paths FILES… --out DIR"


def full_name(log: str) -> str:
    """A packet log's name as the tables have it: its full path, or "-" for standard input."""
    return log if log == "-" else str(Path(log).resolve())


def scan(out: Path, table: str) -> pl.LazyFrame:
    """As `load`, to be filtered before it is read."""
    return parquet.scan(_files(out, table))


def load(out: Path, table: str) -> pl.DataFrame:
    """All rows of one table (one of `TABLES`), in the order of their logs' names.

    `docs/paths-columns.md` has the columns. Raises StoreError when the directory holds no such table.
    """
    return parquet.scan(_files(out, table)).collect()


def _files(out: Path, table: str) -> list[Path]:
    files = sorted((out / table).glob("*.parquet"))
    if not files:
        remedy = f"{REMEDY} --acks" if table == "acks" else REMEDY
        raise StoreError(f"{out} holds no table {table} of packet logs", remedy=remedy)
    return files


def logs(out: Path) -> list[dict[str, Any]]:
    """What each log held: container, times, and counts by name of what was read and what was not used."""
    files = sorted((out / "logs").glob("*.json"))
    if not files:
        raise StoreError(f"{out} holds nothing of packet logs", remedy=REMEDY)
    return [json.loads(file.read_text()) for file in files]
