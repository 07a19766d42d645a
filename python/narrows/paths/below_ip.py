"""What logs show of links below IP, in words: aggregates, the grid of turns, reallocations.

The core finds them (docs/paths-columns.md). A connection that shows none of them has no sentence.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from narrows.paths.limits import whom
from narrows.units import NS_PER_MS, NS_PER_S

SHOWN = ("aggregate_bytes", "turn_period_ns", "reallocation_period_ns")


def in_words(row: Mapping[str, Any]) -> str:
    """What one connection shows: `aggregates of 14.7 segments, turns each 1 ms`; empty for none."""
    size, turn_ns, every_ns = (row[name] for name in SHOWN)
    segments = row["aggregate_segments"]
    what = "data" if row["vantage"] == "receiver" else "acknowledged data"
    said = []
    if size is not None:
        said.append(f"{f'{segments:.3g} segments' if segments else f'{size:.0f} bytes'} of {what} at once")
    if turn_ns is not None:
        said.append(f"turns each {turn_ns / NS_PER_MS:.4g} ms")
    if every_ns is not None:
        said.append(f"another base RTT each {every_ns / NS_PER_S:.3g} s, {row['reallocations']} times")
    return ", ".join(said)


def sentences(connections: pl.DataFrame, most: int) -> Sequence[str]:
    """One for each of the connections with most payload that show something."""
    shown = connections.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in SHOWN))
    several = connections["log"].n_unique() > 1
    return [
        (f"{Path(row['log']).name}, " if several else "") + f"{whom(row)}: {in_words(row)}"
        for row in shown.sort("payload_bytes", descending=True).head(most).to_dicts()
    ]
