"""The upper part of a distribution, small enough to keep, and quantiles of several such parts pooled.

Definition: a tail holds each distinct value from some value on, with how often it occurred, and the number of
all samples. A quantile of the pooled samples is exact if no sample that was left out can lie at or above it;
otherwise there is none. `pooled_quantile` is numpy's (Hyndman and Fan type 7), `pooled_bin_quantile` is
`ecdf.weighted_quantile`, for the bins of a histogram.

Unit: that of the samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.ecdf import weighted_quantile


@dataclass(frozen=True)
class Tail:
    """Distinct values in ascending order, how often each occurred, and how many samples there were in all."""

    values: Floats
    counts: Floats
    total: float

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return float(self.counts.sum()) == self.total


def upper_tail(values: Floats, counts: Floats | None = None, share: float = 1.0) -> Tail | None:
    """The largest samples, at least this share of all; None of no samples. NaN is no sample."""
    weights = np.ones(values.size) if counts is None else counts
    there = ~np.isnan(values) & (weights > 0)
    if not there.any():
        return None
    distinct, place = np.unique(values[there], return_inverse=True)
    often = np.bincount(place, weights=weights[there]).astype(np.float64)
    total = float(often.sum())
    above = np.cumsum(often[::-1])[::-1]  # samples at or above each value
    first = int(np.flatnonzero(above >= share * total)[-1])
    return Tail(distinct[first:], often[first:], total)


def pooled_quantile(tails: Sequence[Tail], p: float) -> float | None:
    """The quantile of all samples together; None of none, or where the tails do not reach down to it."""
    values, counts, below = _together(tails)
    if not values.size:
        return None
    samples = np.repeat(values, counts.astype(np.int64))
    # Where numpy finds what it interpolates between, by number from the lowest.
    lower = int(np.floor(p * (samples.size + below - 1)))
    if lower < below or np.sort(samples)[lower - below] < _reaches_to(tails):
        return None
    left_out = np.full(below, samples.min() - 1.0)
    return float(np.quantile(np.concatenate([left_out, samples]), p))


def pooled_bin_quantile(tails: Sequence[Tail], p: float) -> float | None:
    """The same of bins: the smallest value at or below which a share p of all lies."""
    values, counts, below = _together(tails)
    if not values.size:
        return None
    found = weighted_quantile(np.append(values, values.min() - 1.0), np.append(counts, float(below)), p)
    return None if found is None or found < max(_reaches_to(tails), float(values.min())) else found


def _together(tails: Sequence[Tail]) -> tuple[Floats, Floats, int]:
    """All values and counts, and how many samples were left out."""
    if not tails:
        return np.empty(0), np.empty(0), 0
    values, counts = (np.concatenate(c) for c in ([t.values for t in tails], [t.counts for t in tails]))
    return values, counts, round(sum(t.total for t in tails) - float(counts.sum()))


def _reaches_to(tails: Sequence[Tail]) -> float:
    """No sample at or above this was left out."""
    return max((float(t.values[0]) for t in tails if not t.is_whole), default=-np.inf)
