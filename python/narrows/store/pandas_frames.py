"""The same answers as Pandas frames: `narrows.open(DIR, frames="pandas")`.

Missing stays missing: integers are Pandas' own nullable ones, never floats, and text is NA. Nothing is
computed here, and no other module needs Pandas, which is the extra `pandas` (with PyArrow).
"""

import polars as pl

from narrows.errors import UsageError

try:
    import pandas
    import pyarrow
except ImportError as error:
    raise UsageError(
        f"Pandas frames: {error}", remedy="pip install 'narrows[pandas]', or take Polars frames"
    ) from None

from narrows.store.results import Results

NULLABLE = {
    getattr(pyarrow, name.lower())(): getattr(pandas, f"{name}Dtype")()
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
} | {pyarrow.bool_(): pandas.BooleanDtype()}
"""Pandas' own types that can be missing."""


class PandasResults:
    """What `Results` answers, as Pandas frames; `results` is the one that is asked."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def __repr__(self) -> str:
        return repr(self.results).replace("<results", "<results as Pandas frames,", 1)

    def runs(self) -> pandas.DataFrame:
        """One row per run, failed ones too, with a column per key axis."""
        return to_pandas(self.results.runs())

    def failed(self) -> "PandasResults":
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
    """Through Arrow."""
    return frame.to_arrow().to_pandas(types_mapper=NULLABLE.get)
