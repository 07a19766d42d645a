"""Stability of a series: how much it varies around its own mean.

Definition: the coefficient of variation, standard deviation (n-1) over mean. 0 is perfectly steady. None
with fewer than two samples or a mean of zero. For instantaneous throughput it depends on the bin: always
name the bin.

Unit: none (share of 1). Source: textbook; Ray et al. speak of "stable" throughput without a number, so the
marks that claims use are in the claims' own files.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean


def coefficient_of_variation(values: Values) -> float | None:
    """Standard deviation over mean."""
    x = clean(values)
    if x.size < 2:
        return None
    mean = float(np.mean(x))
    return None if mean == 0.0 else float(np.std(x, ddof=1)) / mean
