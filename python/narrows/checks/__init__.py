"""What one part should do, tried in short runs of it alone, and what each of them shows."""

from pathlib import Path

import polars as pl

from narrows.store import parquet


def table(run: Path, name: str) -> pl.DataFrame:
    """A table of a run, with its words as text."""
    return parquet.read(run / f"{name}.parquet").with_columns(pl.col(pl.Categorical).cast(pl.String))
