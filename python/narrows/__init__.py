"""narrows: an Internet-performance laboratory on the real Linux network stack, in virtual time.

`narrows.open(DIR)` reads the results of a directory (docs/data.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from narrows.store.results import Results

__version__ = "0.1.0"


def open(directory: str | Path) -> Results:
    """The results that `narrows run` wrote into a directory: frames, and SQL over them."""
    from narrows.store.results import open as open_results  # the tables' libraries take a while to import

    return open_results(directory)
