"""Latency under load as Cloudflare's speed test defines it.

Definition (@cloudflare/speedtest 1.14.1, #extractLoadedLatencies, getLatency): zero-byte requests are sent
during transfers, one 400 ms after the other. A transfer size counts as loading if the shortest of its
requests took at least 250 ms. The pings of the sizes that count are put together in ascending order of SIZE
(JavaScript orders integer keys), the last 20 are kept, and the loaded latency is their median; the loaded
jitter is the mean absolute difference of these 20. Sizes are mostly requested in ascending order, so "the
last 20" is nearly "the latest 20", and on a fast link it is the largest download alone: the start of the
queue's growth is forgotten.

`last_median` is the same statistic for any ordered series of latencies, whichever tool made it.

Bandwidth: `narrows.metrics.rate.request_percentile`. Unloaded jitter: `narrows.metrics.latency.jitter`.
Scores: `narrows.metrics.latency.aim`.

Unit: ms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values
from narrows.metrics.statistics.columns import aligned, sample

LAST_POINTS = 20
LOADING_MS = 250.0


@dataclass(frozen=True)
class LoadedLatency:
    """Median and jitter of the pings that counted; None where fewer than two did."""

    latency_ms: float | None
    jitter_ms: float | None
    points: int


def last_median(latency_ms: Values, points: int = LAST_POINTS) -> float | None:
    """Median of the last `points` latencies present, in the order given."""
    x = sample(latency_ms)
    return None if x is None else float(np.median(x[-points:]))


def loaded_latency(
    request_bytes: Values,
    request_duration_ms: Values,
    ping_bytes: Values,
    ping_ms: Values,
    points: int = LAST_POINTS,
    loading_ms: float = LOADING_MS,
) -> LoadedLatency:
    """Of requests (size, duration) and of the pings sent during requests of a size, in the order sent."""
    size, duration = aligned(request_bytes=request_bytes, request_duration_ms=request_duration_ms)
    during, ping = aligned(ping_bytes=ping_bytes, ping_ms=ping_ms)
    sizes = np.unique(size)
    loading = np.array([one for one in sizes if duration[size == one].min() >= loading_ms], dtype=np.float64)
    counts = np.isin(during, loading)
    order = np.argsort(during[counts], kind="stable")
    last: Floats = ping[counts][order][-points:]
    if last.size < 2:
        return LoadedLatency(None, None, int(last.size))
    return LoadedLatency(float(np.median(last)), float(np.mean(np.abs(np.diff(last)))), int(last.size))
