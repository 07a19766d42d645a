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
import numpy.typing as npt

from narrows.metrics.statistics.arrays import Floats, Values, clean
from narrows.metrics.statistics.columns import aligned

LEAST_PAIRS = 3


def ranks(values: Floats) -> Floats:
    """Ranks from 1, along the last axis; equal values have the mean of theirs."""
    from scipy.stats import rankdata  # takes a second, of every command that knows the studies

    found: Floats = rankdata(values, axis=-1)
    return found


def rho(one: Floats, other: Floats) -> Floats:
    """Spearman's of two arrays along the last axis, of which nothing is missing; NaN: none."""
    count = one.shape[-1]
    a, b = (ranks(each) - (count + 1) / 2 for each in (one, other))
    spread = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    is_known = (spread > 0) & (count >= LEAST_PAIRS)
    return np.where(is_known, (a * b).sum(-1) / np.where(is_known, spread, 1.0), np.nan)


def above(values: Floats, is_higher: npt.NDArray[np.bool_]) -> Floats:
    """The area along the last axis, of the values that are of the one group and all others; NaN: none."""
    count = is_higher.sum(-1)
    pairs = count * (is_higher.shape[-1] - count)
    won = (ranks(values) * is_higher).sum(-1) - count * (count + 1) / 2
    return np.where(pairs > 0, won / np.maximum(pairs, 1), np.nan)


def spearman(one: Values, other: Values) -> float | None:
    """Rho of two columns of the same rows."""
    one, other = aligned(one=one, other=other)
    return _known(rho(one, other))


def area(higher: Values, lower: Values) -> float | None:
    """The probability that a value of `higher` is above one of `lower`."""
    higher, lower = clean(higher), clean(lower)
    return _known(above(np.concatenate([higher, lower]), np.arange(higher.size + lower.size) < higher.size))


def _known(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)
