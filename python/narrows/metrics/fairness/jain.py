"""Jain's fairness index.

Definition: (sum x)^2 / (n * sum x^2) of n allocations: 1 when all are equal, 1/n when one has everything.
None of no allocations, or when all are zero (nothing was shared).

Unit: none (share of 1). Source: R. Jain, D.-M. Chiu, W. Hawe, DEC-TR-301 (1984).
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean


def jain_index(allocations: Values) -> float | None:
    """Fairness of the allocations (any one unit, e.g. goodput in bit/s per flow)."""
    x = clean(allocations)
    if (x < 0).any():
        raise ValueError("an allocation is below zero")
    squares = float(np.sum(x * x))
    if x.size == 0 or squares == 0.0:
        return None
    return float(np.sum(x)) ** 2 / (x.size * squares)
