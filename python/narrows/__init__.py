"""narrows: an Internet-performance laboratory on the real Linux network stack, in virtual time.

`narrows.open(DIR)` reads the results of a directory (docs/data.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    from narrows.store.pandas_frames import PandasResults
    from narrows.store.results import Results

__version__ = "0.1.0"


@overload
def open(directory: str | Path, frames: Literal["polars"] = "polars") -> Results: ...
@overload
def open(directory: str | Path, frames: Literal["pandas"]) -> PandasResults: ...
def open(directory: str | Path, frames: Literal["polars", "pandas"] = "polars") -> Results | PandasResults:
    """The results that `narrows run` wrote into a directory: frames (of Polars or Pandas), and SQL."""
    from narrows.store.results import open as open_results  # the tables' libraries take a while to import

    results = open_results(directory)
    if frames == "polars":
        return results
    if frames == "pandas":
        from narrows.store.pandas_frames import PandasResults

        return PandasResults(results)
    from narrows.errors import UsageError, did_you_mean

    raise UsageError(f"frames={frames!r}", remedy=did_you_mean(str(frames), ("polars", "pandas")))
