"""Empirical cumulative distribution function.

Definition: F(x) = (number of samples <= x) / n, a step function; each distinct value appears once, with F
just after its step. `weighted_ecdf` is the same for (value, count) pairs such as histogram bins.

Unit: x in the samples' unit, F a share of 1. Source: A. W. van der Vaart, Asymptotic Statistics, section
19.1.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values, clean
from narrows.metrics.statistics.columns import aligned


def ecdf(values: Values) -> tuple[Floats, Floats] | None:
    """(x, F(x)) at each distinct sample, ascending; None of no samples."""
    x = clean(values)
    if x.size == 0:
        return None
    distinct, counts = np.unique(x, return_counts=True)
    return distinct, np.cumsum(counts).astype(np.float64) / x.size


def weighted_ecdf(values: Values, counts: Values) -> tuple[Floats, Floats] | None:
    """(x, F(x)) of values that occurred `counts` times each; None when nothing occurred."""
    x, w = aligned(values=values, counts=counts)
    if (w < 0).any():
        raise ValueError("a count is below zero")
    total = float(w.sum())
    if total == 0.0:
        return None
    order = np.argsort(x, kind="stable")
    distinct, first = np.unique(x[order], return_index=True)
    return distinct, np.cumsum(np.add.reduceat(w[order], first)) / total


def weighted_quantile(values: Values, counts: Values, p: float) -> float | None:
    """Smallest value with F(value) >= p (no interpolation: bins do not say what lies between)."""
    steps = weighted_ecdf(values, counts)
    if steps is None:
        return None
    x, share = steps
    return float(x[min(int(np.searchsorted(share, p - 1e-12)), x.size - 1)])
