"""Reads Parquet files of runs: by their literal names, and with one clear line where a file cannot be read.

Polars and DuckDB take a path for a pattern, so that a directory called `a*` or `cake[50M]` would be read
twice or not at all. Everything of narrows that reads Parquet reads it here.
"""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from narrows.errors import StoreError

REMEDY = "narrows run makes the run again once its directory is removed"


def scan(path: Path | Sequence[Path]) -> pl.LazyFrame:
    """One file, or several of one shape as one table, not yet read."""
    for each in [path] if isinstance(path, Path) else path:
        schema(each)  # a lazy frame would tell only when it is collected, far from who asked
    return pl.scan_parquet(path, glob=False)  # type: ignore[arg-type]


def read(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from None


def schema(path: Path) -> dict[str, pl.DataType]:
    """Columns and types, from the file's end; a file that was cut off has none."""
    try:
        with path.open("rb") as file:
            return pl.read_parquet_schema(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from None


def metadata(path: Path) -> dict[str, str]:
    """What was written into the file beside its rows."""
    try:
        with path.open("rb") as file:
            return pl.read_parquet_metadata(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, error) from None


def pattern(path: Path) -> str:
    """A literal path as DuckDB's `read_parquet` wants it: signs of patterns in brackets, quotes twice."""
    escaped = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path))
    return "'" + escaped.replace("'", "''") + "'"


def unreadable(path: Path, error: Exception) -> StoreError:
    """The one line about a table that cannot be read."""
    if isinstance(error, FileNotFoundError):
        what = "the file is not there"
    else:
        what = f"cannot be read: {str(error).strip().splitlines()[0]}"
    return StoreError(f"run {path.parent.name}: {what}", where=str(path), remedy=REMEDY)
