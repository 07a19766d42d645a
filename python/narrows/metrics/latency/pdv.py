"""Packet delay variation: how far delays lie above the smallest.

Definition (RFC 5481, section 4.2): PDV(i) = D(i) - D(min), D one-way delays, D(min) the smallest of the
stream. It is never negative; lost packets have none. Its quantiles are the delay a de-jitter buffer must
hold; the usual single figure is the 99.9th percentile (RFC 5481, section 8.2). With round-trip times in
place of one-way delays it is the same formula and another metric: name the probe.

Unit: that of the delays. Source: RFC 5481; ITU-T Y.1540 (there "two-point", against the minimum).
"""

from narrows.metrics.statistics.arrays import Values, quantiles
from narrows.metrics.statistics.columns import sample

QUANTILE = 0.999


def pdv_quantile(delay: Values, p: float = QUANTILE) -> float | None:
    """The p-quantile of PDV; None with fewer than two packets."""
    x = sample(delay)
    return None if x is None else float(quantiles(x, [p], above=float(x.min()))[0])
