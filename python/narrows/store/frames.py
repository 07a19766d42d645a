"""The frames that `narrows.open(DIR)` answers with: Polars', whose `to_pandas()` needs no other package.

Polars' own wants PyArrow, which narrows does not need. What Polars makes of such a frame (`filter`, `join`)
is a plain one: `narrows.to_pandas(frame)` takes that too.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import polars as pl


class Frame(pl.DataFrame):
    """A Polars frame."""

    def to_pandas(self, *args: Any, **kwargs: Any) -> Any:
        """As Pandas' frame: by Polars where PyArrow is installed, else by narrows."""
        if args or kwargs or importlib.util.find_spec("pyarrow") is not None:
            return super().to_pandas(*args, **kwargs)
        from narrows.store.pandas_frames import to_pandas

        return to_pandas(self)
