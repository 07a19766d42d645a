"""The same answers as Pandas frames: `narrows.open(DIR, frames="pandas")`.

Missing stays missing: integers with gaps are Pandas' own nullable ones, never floats, and text is NA. Nothing
is computed here, and no other module needs Pandas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars as pl

from narrows.store.results import Results


class PandasResults:
    """What `Results` answers, as Pandas frames; `results` is the one that is asked."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def __repr__(self) -> str:
        return repr(self.results).replace("<results", "<results as Pandas frames,", 1)

    def runs(self) -> pandas.DataFrame:
        """One row per run, failed ones too, with a column per key axis."""
        return to_pandas(self.results.runs())

    def failed(self) -> PandasResults:
        """What was measured in failed runs."""
        return PandasResults(self.results.failed())

    def metrics(self, **equals: str) -> pandas.DataFrame:
        """Figures."""
        return to_pandas(self.results.metrics(**equals))

    def samples(self, **equals: str) -> pandas.DataFrame:
        """Time series."""
        return to_pandas(self.results.samples(**equals))

    def queue(self, **equals: str) -> pandas.DataFrame:
        """Events at the queues."""
        return to_pandas(self.results.queue(**equals))

    def sojourn(self, **equals: str) -> pandas.DataFrame:
        """Histograms of sojourn times."""
        return to_pandas(self.results.sojourn(**equals))

    def flows(self, **equals: str) -> pandas.DataFrame:
        """Flows at the queues."""
        return to_pandas(self.results.flows(**equals))

    def sql(self, query: str) -> pandas.DataFrame:
        """The answer to a query over the views (DuckDB)."""
        return to_pandas(self.results.sql(query))


def to_pandas(frame: pl.DataFrame) -> pandas.DataFrame:
    """Column by column, without a library between the two."""
    return pandas.DataFrame({column.name: _column(column) for column in frame}, columns=frame.columns)


def _column(column: pl.Series) -> Any:
    kind = column.dtype
    if isinstance(kind, pl.Categorical | pl.Enum):
        return _labels(column.cast(pl.String))
    if kind == pl.String:
        return pandas.array(column.to_list(), dtype="string")
    if kind.is_float():
        return column.to_numpy()  # NULL is NaN, which no table holds otherwise
    missing = column.is_null().to_numpy()
    if kind == pl.Boolean:
        return pandas.arrays.BooleanArray(column.fill_null(False).to_numpy(writable=True), missing)
    if kind.is_integer() and kind != pl.Int128:
        values = column.fill_null(0).to_numpy(writable=True)
        return pandas.arrays.IntegerArray(values, missing) if missing.any() else values
    return pandas.Series(column.to_list(), dtype=object)


def _labels(column: pl.Series) -> pandas.Categorical:
    """Few distinct texts in many rows."""
    distinct = column.unique().drop_nulls().sort()
    code_of = dict(zip(distinct, range(len(distinct)), strict=True))
    codes = column.replace_strict(code_of, default=None, return_dtype=pl.Int32).fill_null(-1)
    return pandas.Categorical.from_codes(np.asarray(codes.to_numpy()), categories=distinct.to_list())
