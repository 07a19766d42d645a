"""Confidence interval of a quantile by order statistics, without assuming any distribution.

Definition: for n independent samples, the number below the true p-quantile is Binomial(n, p). The interval
is [x(l), x(u)] (order statistics, counted from 1) with l the largest and u the smallest rank such that P(X
< l) <= alpha/2 and P(X >= u) <= alpha/2. Its real coverage is at least the nominal one. With few samples no
such ranks exist (the median at 95 % needs n >= 6): then there is no interval, and None says so.

Unit: that of the samples. Source: H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1;
J.-Y. Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values, clean


@dataclass(frozen=True)
class Interval:
    """A closed interval that covers the true value with at least the probability `confidence`."""

    low: float
    high: float
    confidence: float


def quantile_interval(values: Values, p: float = 0.5, confidence: float = 0.95) -> Interval | None:
    """Interval of the p-quantile, or None where the samples are too few to give one."""
    x = np.sort(clean(values))
    n = int(x.size)
    if n == 0:
        return None
    tail = (1.0 - confidence) / 2.0
    if max((1.0 - p) ** n, p**n) > tail:
        return None  # not even all samples: the least or the greatest may lie on the wrong side
    ranks = np.arange(1, n + 1)
    below = np.cumsum(_binomial(n, p)[:-1])  # P(X <= rank-1) = P(X < rank)
    lower = ranks[below <= tail]
    upper = ranks[1.0 - below <= tail]
    if lower.size == 0 or upper.size == 0:
        return None
    return Interval(float(x[lower[-1] - 1]), float(x[upper[0] - 1]), confidence)


def _binomial(n: int, p: float) -> Floats:
    """P(X = k) for k = 0 … n. scipy.special takes longer to import than a small answer to find."""
    k = np.arange(n + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])
    ways = log_factorial[n] - log_factorial - log_factorial[::-1]
    return np.asarray(np.exp(ways + k * np.log(p) + (n - k) * np.log1p(-p)))
