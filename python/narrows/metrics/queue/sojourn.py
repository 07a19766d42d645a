"""Sojourn time: how long packets stood in a queue, per packet, from the tap.

Definition: departure minus arrival of every packet that left the queue for the wire. Packets that were
dropped have no sojourn (their age at the drop is another quantity) and are counted apart. Drop share =
drops over arrivals that were settled (departed + dropped); mark share = CE marks over departures; a marked
packet has a `mark` row beside its `depart` row.

Unit: ns in, ms in the summary. Source: K. Nichols and V. Jacobson, RFC 8289, section 2 ("sojourn time").
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from narrows.metrics.statistics.distribution import Distribution, distribution

NS_PER_MS = 1e6
DEPARTED, DROPPED, MARKED = "depart", "drop", "mark"


@dataclass(frozen=True)
class Sojourn:
    """Sojourn of departed packets in ms, and what happened to the rest."""

    sojourn_ms: Distribution
    departed: int
    dropped: int
    marked: int

    @property
    def drop_share(self) -> float | None:
        """Dropped / (departed + dropped)."""
        settled = self.departed + self.dropped
        return self.dropped / settled if settled else None

    @property
    def mark_share(self) -> float | None:
        """Marked / departed."""
        return self.marked / self.departed if self.departed else None


def sojourn(queue: pl.DataFrame) -> Sojourn:
    """Summary of rows of the store's `queue` table (columns event, sojourn_ns)."""
    departed = queue.filter(pl.col("event") == DEPARTED)
    return Sojourn(
        sojourn_ms=distribution(departed["sojourn_ns"].cast(pl.Float64) / NS_PER_MS),
        departed=departed.height,
        dropped=queue.filter(pl.col("event") == DROPPED).height,
        marked=queue.filter(pl.col("event") == MARKED).height,
    )
