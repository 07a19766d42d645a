"""Jitter: mean absolute difference of consecutive latencies.

Definition: mean of |x[i+1] - x[i]| over consecutive probes that were both received; a lost probe breaks the
chain (the samples around it are not consecutive). None without two consecutive samples.

Unit: that of the samples. Source: as in @cloudflare/speedtest ("jitter"); it is not RFC 3550's smoothed
interarrival jitter, and not RFC 3393's distribution of delay variation.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean, raw


def jitter(latency: Values) -> float | None:
    """Jitter of latencies in the order the probes were sent; None (or NaN) is a lost probe."""
    steps = clean(np.abs(np.diff(raw(latency))))
    return float(np.mean(steps)) if steps.size else None
