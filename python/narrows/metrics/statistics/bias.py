"""Bias and spread of readings against the truth of the same runs.

Definition: error = reading - truth, run by run. Bias is the median error with its 95 % interval by order
statistics (None with fewer than six runs); spread is the interquartile range and the standard deviation
(n-1) of the errors; one run has an error and no spread. The relative ones are of reading / truth - 1, over
the runs whose truth is not 0; None where fewer than two of several are. The mean error stands beside the
median: where they part, a few runs carry the error.

Bias that is the same in all conditions can be calibrated away; spread and rank inversions
(`narrows.metrics.statistics.rank_inversions`) cannot.

Unit: that of the values; relative ones share of 1. Source: ISO 5725-1 (trueness and precision), with
medians.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned
from narrows.metrics.statistics.interval import Interval, quantile_interval


@dataclass(frozen=True)
class Bias:
    """Errors of n runs."""

    n: int
    median: float
    median_interval: Interval | None
    mean: float
    iqr: float | None  # None: one run
    std: float | None
    worst: float  # the error of largest magnitude, with its sign
    relative_median: float | None
    relative_iqr: float | None
    relative_interval: Interval | None = None


def bias(reading: Values, truth: Values) -> Bias | None:
    """Takes readings and truths of the same runs; a run without either is left out; None of no run."""
    read, true = aligned(reading=reading, truth=truth)
    if read.size == 0:
        return None
    several = read.size > 1
    error = read - true
    p25, median, p75 = (float(q) for q in np.quantile(error, [0.25, 0.5, 0.75]))
    some = true != 0
    relative = read[some] / true[some] - 1.0
    enough = relative.size >= min(2, read.size)
    quartiles = np.quantile(relative, [0.25, 0.5, 0.75]) if enough else None
    return Bias(
        n=int(error.size),
        median=median,
        median_interval=quantile_interval(error),
        mean=float(np.mean(error)),
        iqr=p75 - p25 if several else None,
        std=float(np.std(error, ddof=1)) if several else None,
        worst=float(error[np.argmax(np.abs(error))]),
        relative_median=None if quartiles is None else float(quartiles[1]),
        relative_iqr=float(quartiles[2] - quartiles[0]) if quartiles is not None and several else None,
        relative_interval=quantile_interval(relative) if enough else None,
    )
