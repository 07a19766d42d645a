"""Confidence interval of any statistic by the percentile bootstrap, repeatable.

Definition: `resamples` samples of size n are drawn with replacement, the statistic of each is computed, and
the interval is its (alpha/2, 1-alpha/2) quantiles. The generator's seed is fixed, so the same samples
always give the same interval. Resamples in which there is no such statistic (NaN) are left out; where that is
more than a tenth of them, there is no interval. Used where order statistics do not apply (standard deviation,
ratios); with n < 5 it is None, because the bootstrap of so few samples is far too narrow.

Unit: that of the statistic. Source: B. Efron and R. Tibshirani, An Introduction to the Bootstrap, chapter 13.
"""

from collections.abc import Callable

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values, clean
from narrows.metrics.statistics.interval import Interval

MIN_SAMPLES = 5
SEED = 7
LEAST_KNOWN = 0.9
"""The part of the resamples in which the statistic must exist."""


def bootstrap_interval(
    values: Values, statistic: Callable[[Floats], float], confidence: float = 0.95, resamples: int = 2000
) -> Interval | None:
    """Percentile interval of `statistic`, or None with fewer than MIN_SAMPLES samples."""
    x = clean(values)
    if x.size < MIN_SAMPLES:
        return None
    generator = np.random.Generator(np.random.PCG64(SEED))
    drawn = x[generator.integers(0, x.size, size=(resamples, x.size))]
    results = clean(np.array([statistic(row) for row in drawn], dtype=np.float64))
    if results.size < LEAST_KNOWN * resamples:
        return None
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(results, [tail, 1.0 - tail])
    return Interval(float(low), float(high), confidence)


def std_interval(values: Values, confidence: float = 0.95) -> Interval | None:
    """Bootstrap interval of the sample standard deviation (n-1)."""
    return bootstrap_interval(values, lambda x: float(np.std(x, ddof=1)), confidence)
