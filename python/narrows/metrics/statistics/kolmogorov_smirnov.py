"""The largest distance of two samples' empirical distributions (Kolmogorov and Smirnov)."""

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean


def kolmogorov_smirnov(a: Values, b: Values) -> float | None:
    """0: alike; 1: one is all below the other. None where a sample has fewer than two values."""
    one, two = np.sort(clean(a)), np.sort(clean(b))
    if one.size < 2 or two.size < 2:
        return None
    at = np.concatenate((one, two))
    below = (
        np.searchsorted(one, at, side="right") / one.size - np.searchsorted(two, at, side="right") / two.size
    )
    return float(np.abs(below).max())
