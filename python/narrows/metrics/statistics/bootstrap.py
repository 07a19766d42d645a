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
import numpy.typing as npt

from narrows.metrics.statistics.arrays import Floats, Values, clean
from narrows.metrics.statistics.interval import Interval

Rows = npt.NDArray[np.int64]
MIN_SAMPLES = 5
SEED = 7
LEAST_KNOWN = 0.9
"""The part of the resamples in which the statistic must exist."""


def bootstrap_interval(
    values: Values, statistic: Callable[[Floats], float], confidence: float = 0.95, resamples: int = 2000
) -> Interval | None:
    """Percentile interval of `statistic`, or None with fewer than MIN_SAMPLES samples."""
    x = clean(values)
    return interval_of_rows(
        x.size,
        lambda rows: np.array([statistic(x[row]) for row in rows], dtype=np.float64),
        confidence,
        resamples,
    )


def interval_of_rows(
    size: int, statistic: Callable[[Rows], Floats], confidence: float = 0.95, resamples: int = 2000
) -> Interval | None:
    """The same of a statistic that is computed for all resamples at once, from which of `size` rows were
    drawn: a matrix, a resample a row."""
    if size < MIN_SAMPLES:
        return None
    generator = np.random.Generator(np.random.PCG64(SEED))
    results = clean(statistic(generator.integers(0, size, size=(resamples, size))))
    if results.size < LEAST_KNOWN * resamples:
        return None
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(results, [tail, 1.0 - tail])
    return Interval(float(low), float(high), confidence)


def std_interval(values: Values, confidence: float = 0.95) -> Interval | None:
    """Bootstrap interval of the sample standard deviation (n-1)."""
    return bootstrap_interval(values, lambda x: float(np.std(x, ddof=1)), confidence)
