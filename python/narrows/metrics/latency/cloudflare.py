"""Latency under load as Cloudflare's speed test defines it, for any ordered series of latencies.

Definition (@cloudflare/speedtest 1.14.1, #extractLoadedLatencies, getLatency): zero-byte requests are sent
during transfers, one 400 ms after the other. A transfer size counts as loading if the shortest of its
requests took at least 250 ms. The pings of the sizes that count are put together in ascending order of SIZE
(JavaScript orders integer keys), the last 20 are kept, and the loaded latency is their median. Sizes are
mostly requested in ascending order, so "the last 20" is nearly "the latest 20", and on a fast link it is the
largest download alone: the start of the queue's growth is forgotten.

Bandwidth: `narrows.metrics.rate.request_percentile`. Unloaded jitter: `narrows.metrics.latency.jitter`.
Scores: `narrows.metrics.latency.aim`.

Unit: ms.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import sample

LAST_POINTS = 20


def last_median(latency_ms: Values, points: int = LAST_POINTS) -> float | None:
    """Median of the last `points` latencies present, in the order given."""
    x = sample(latency_ms)
    return None if x is None else float(np.median(x[-points:]))
