"""Which packets are the tool's own, and when it loaded the link each way.

A direction is loaded in a tenth of a second in which the tool's own packets of data size (500 bytes and more:
acknowledgements and pings are smaller) took at least 1 % of that direction's rate and 10 % of what they took
in the busiest one (a speed test's own messages are no load), and in a pause of less than a second between
two such. So a tool that loads one way after the other is loaded at two times that do not overlap, one that
loads both at once at two that do, and one that goes to and fro (Cloudflare's) in several spans each way,
without knowing which tool it is. Longer pauses are left out: what the queue did then is no truth of a load.

The reach of this rule: a tool that a competitor holds below 1 % of the rate has no window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from narrows.metrics.arrays import Floats

DIRECTIONS = ("down", "up")
DATA_BYTES = 500
LOADED_SHARE = 0.01
OF_BUSIEST = 0.1
BIN_NS = 100_000_000
PAUSE_NS = 1_000_000_000
Window = tuple[int, int]


@dataclass(frozen=True)
class Load:
    """The spans in which a direction was loaded, in order; what begins in [start, stop) of one counts."""

    spans: tuple[Window, ...]

    @property
    def start_ns(self) -> int:
        """When it began."""
        return self.spans[0][0]

    @property
    def window(self) -> Window:
        """As long as all spans together, from the beginning on."""
        return self.start_ns, self.start_ns + sum(stop - start for start, stop in self.spans)

    def of(self, t_ns: Floats, *columns: Floats) -> list[Floats]:
        """The rows of ascending times that count, the pauses taken out of the times: all are in `window`."""
        cuts = [np.searchsorted(t_ns, span) for span in self.spans]
        if len(cuts) == 1:
            return [column[cuts[0][0] : cuts[0][1]] for column in (t_ns, *columns)]
        shifted, end = [], self.start_ns
        for (low, high), (start, stop) in zip(cuts, self.spans, strict=True):
            shifted.append(t_ns[low:high] - (start - end))
            end += stop - start
        rest = [np.concatenate([column[low:high] for low, high in cuts]) for column in columns]
        return [np.concatenate(shifted), *rest]

    def holds(self, t_ns: pl.Expr) -> pl.Expr:
        """Whether a time counts."""
        return pl.any_horizontal([(t_ns >= start) & (t_ns < stop) for start, stop in self.spans])


def own_items(plan: Mapping[str, Any], test: str) -> list[str]:
    """The plan's items that belong to the tool under test: its own, and those it was lowered to."""
    return [i["id"] for i in plan["traffic"] if belongs(i["id"], test)]


def belongs(item: str, test: str) -> bool:
    """Whether an item of a plan is the tool under test, or a part of it (`test-server`, `test.down`)."""
    return item == test or item.startswith((f"{test}-", f"{test}."))


def loads(own: pl.DataFrame, link: Mapping[str, Any]) -> dict[str, Load]:
    """The load of each direction that was loaded, from departures of the tool's own packets."""
    found: dict[str, Load] = {}
    for direction in DIRECTIONS:
        rate_bps = link.get(f"rate_{direction}_bps")
        data = own.filter((pl.col("direction") == direction) & (pl.col("bytes") >= DATA_BYTES))
        if data.is_empty():
            continue
        bins = data.group_by((pl.col("t_ns") // BIN_NS).alias("bin")).agg(pl.col("bytes").sum())
        least = 0.0 if rate_bps is None else rate_bps / 8e9 * BIN_NS * LOADED_SHARE
        enough = (pl.col("bytes") >= least) & (pl.col("bytes") >= OF_BUSIEST * pl.col("bytes").max())
        loaded = bins.filter(enough)["bin"].sort().to_numpy().astype(np.int64)
        if loaded.size:
            breaks = np.flatnonzero(np.diff(loaded) > PAUSE_NS // BIN_NS) + 1
            spans = [(part[0] * BIN_NS, (part[-1] + 1) * BIN_NS) for part in np.split(loaded, breaks)]
            found[direction] = Load(tuple((int(start), int(stop)) for start, stop in spans))
    return found
