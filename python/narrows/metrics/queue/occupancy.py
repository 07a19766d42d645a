"""Occupancy of a queue over time, weighted by time.

Definition: the backlog is a step function that changes at events; its mean and quantiles are over time, not
over packets: a packet finds the queue fuller than a clock does, because packets come when it is filling.
Empty and full shares are shares of time with a backlog of 0 and of at least `capacity`. The record begins
at the first event in [start, stop), or at start if an event before it tells the level.

The store's `queue` table gives the level after each event: an `arrive` row holds what the packet found (its
own bytes are to be added), `depart` and `drop` rows what was left behind; `mark` rows change nothing.

Unit: that of the levels (bytes or packets); times in ns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from narrows.metrics.statistics.arrays import Floats, Values
from narrows.metrics.statistics.columns import aligned, ascending
from narrows.metrics.statistics.ecdf import weighted_ecdf


@dataclass(frozen=True)
class Occupancy:
    """Backlog over time; full_share is None without a capacity."""

    mean: float
    p50: float
    p95: float
    maximum: float
    empty_share: float
    full_share: float | None
    observed_ns: int


def occupancy(
    t_ns: Values, level: Values, start_ns: int, stop_ns: int, capacity: float | None = None
) -> Occupancy | None:
    """Of the level after each event, in order of time; None with fewer than two events or no time between."""
    times, after = aligned(t_ns=t_ns, level=level)
    ascending(times, "t_ns")
    if (after < 0).any():
        raise ValueError("a backlog is below zero")
    before = int(np.searchsorted(times, start_ns, side="right"))
    first = max(0, before - 1)
    last = int(np.searchsorted(times, stop_ns, side="left"))
    times, after = times[first:last], after[first:last]
    if times.size < 2:
        return None
    edges: Floats = np.maximum(np.append(times, float(stop_ns)), float(start_ns))
    held = np.diff(edges)
    total = float(held.sum())
    steps = weighted_ecdf(after, held)
    if steps is None:
        return None
    levels, share = steps
    quantile = levels[np.minimum(np.searchsorted(share, np.array([0.5, 0.95]) - 1e-12), levels.size - 1)]
    return Occupancy(
        mean=float(np.dot(after, held)) / total,
        p50=float(quantile[0]),
        p95=float(quantile[1]),
        maximum=float(after[held > 0].max()),
        empty_share=float(held[after == 0].sum()) / total,
        full_share=None if capacity is None else float(held[after >= capacity].sum()) / total,
        observed_ns=round(total),
    )


def occupancy_of(
    queue: pl.DataFrame, start_ns: int, stop_ns: int, capacity_bytes: float | None = None
) -> Occupancy | None:
    """In bytes, of the rows of one hop of the store's `queue` table."""
    rows = queue.filter(pl.col("event") != "mark")
    arrived = pl.when(pl.col("event") == "arrive").then(pl.col("bytes")).otherwise(0)
    level = rows.select((pl.col("backlog_bytes") + arrived).alias("level"))["level"]
    return occupancy(rows["t_ns"], level, start_ns, stop_ns, capacity_bytes)
