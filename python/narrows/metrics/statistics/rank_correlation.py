"""Spearman's rank correlation, and how well one number tells two groups apart (area under the ROC curve).

Definitions: Spearman's rho is Pearson's correlation of the ranks, where equal values share the mean of
theirs. The area is the probability that a value of the one group is larger than one of the other, an equal
pair counting a half (Mann and Whitney's U over the number of pairs): 1 tells them apart, 0.5 says nothing.

Unit: 1. None with fewer than three pairs, or where all values of a side are equal; of the area where one
group has nothing. Source: C. Spearman, "The proof and measurement of association between two things" (1904);
J. A. Hanley and B. J. McNeil, "The meaning and use of the area under a ROC curve" (1982).
"""

from __future__ import annotations

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values, clean
from narrows.metrics.statistics.columns import aligned

LEAST_PAIRS = 3


def ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values have the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts).astype(np.float64)
    mean: Floats = (last - (counts - 1) / 2)[place]
    return mean


def spearman(one: Values, other: Values) -> float | None:
    """Rho of two columns of the same rows."""
    one, other = aligned(one=one, other=other)
    if one.size < LEAST_PAIRS or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def area(higher: Values, lower: Values) -> float | None:
    """The probability that a value of `higher` is above one of `lower`."""
    higher, lower = clean(higher), clean(lower)
    if not higher.size or not lower.size:
        return None
    together = ranks(np.concatenate([higher, lower]))
    above = together[: higher.size].sum() - higher.size * (higher.size + 1) / 2
    return float(above / (higher.size * lower.size))
