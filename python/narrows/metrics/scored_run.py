"""Which packets are the tool's own, and when it loaded the link each way.

A direction is loaded from the first to the last tenth of a second in which the tool's own packets of data
size (500 bytes and more: acknowledgements and pings are smaller) took at least 1 % of that direction's rate
and 10 % of what they took in the busiest one (a speed test's own messages are no load). So a tool that loads
one way after the other has two windows that do not overlap, and one that loads both at once has two that do,
without knowing which tool it is.

The reach of this rule: a tool that a competitor holds below 1 % of the rate has no window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

DIRECTIONS = ("down", "up")
DATA_BYTES = 500
LOADED_SHARE = 0.01
OF_BUSIEST = 0.1
BIN_NS = 100_000_000
Window = tuple[int, int]


def own_items(plan: Mapping[str, Any], test: str) -> list[str]:
    """The plan's items that belong to the tool under test: its own, and those it was lowered to."""
    return [i["id"] for i in plan["traffic"] if belongs(i["id"], test)]


def belongs(item: str, test: str) -> bool:
    """Whether an item of a plan is the tool under test, or a part of it (`test-server`, `test.down`)."""
    return item == test or item.startswith((f"{test}-", f"{test}."))


def loaded_windows(own: pl.DataFrame, link: Mapping[str, Any]) -> dict[str, Window]:
    """The window of each loaded direction, from departures of the tool's own packets."""
    found: dict[str, Window] = {}
    for direction in DIRECTIONS:
        rate_bps = link.get(f"rate_{direction}_bps")
        data = own.filter((pl.col("direction") == direction) & (pl.col("bytes") >= DATA_BYTES))
        if data.is_empty():
            continue
        bins = data.group_by((pl.col("t_ns") // BIN_NS).alias("bin")).agg(pl.col("bytes").sum())
        least = 0.0 if rate_bps is None else rate_bps / 8e9 * BIN_NS * LOADED_SHARE
        enough = (pl.col("bytes") >= least) & (pl.col("bytes") >= OF_BUSIEST * pl.col("bytes").max())
        loaded = bins.filter(enough)["bin"]
        first, last = loaded.min(), loaded.max()
        if isinstance(first, int) and isinstance(last, int):
            found[direction] = (first * BIN_NS, (last + 1) * BIN_NS)
    return found
