"""Throughput as a percentile of the rates of single requests.

Definition: the p-quantile (0.9) of the rates of the requests that took at least `at_least_ms` (10),
linearly interpolated between order statistics. Short requests are left out because their time is mostly
round trips; requests of rate 0 are left out as Cloudflare does. It reads the best tenth of the moments, so
on a link whose rate varies it lies above the mean.

Unit: bit/s, at the layer of the rates given (Cloudflare: response body plus headers as the browser counts
them). Source: @cloudflare/speedtest 1.14.1, bandwidthPercentile, bandwidthMinRequestDuration, getBandwidth.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned

PERCENTILE = 0.9
AT_LEAST_MS = 10.0


def request_percentile_bps(
    rate_bps: Values, duration_ms: Values, p: float = PERCENTILE, at_least_ms: float = AT_LEAST_MS
) -> float | None:
    """The p-quantile of the long requests' rates; None with fewer than two of them."""
    rate, duration = aligned(rate_bps=rate_bps, duration_ms=duration_ms)
    if (rate < 0).any() or (duration < 0).any():
        raise ValueError("a request has a rate or a duration below zero")
    counted = rate[(duration >= at_least_ms) & (rate > 0)]
    return float(np.quantile(counted, p)) if counted.size >= 2 else None
