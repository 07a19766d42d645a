"""Summary of a distribution: what a table shows beside the picture of the whole.

Definition: n, minimum, quartiles, p90, p95, p99, maximum (quantiles interpolate linearly between order
statistics, Hyndman and Fan's type 7), mean, and the sample standard deviation (n-1; None for n = 1). The
median's 95 % interval is by order statistics (`narrows.metrics.statistics.interval`), None where n < 6.

Unit: that of the samples. Source: R. J. Hyndman and Y. Fan, "Sample quantiles in statistical packages"
(1996).
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean
from narrows.metrics.statistics.interval import Interval, quantile_interval

QUANTILES = {
    "minimum": 0.0, "p25": 0.25, "median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99,
    "maximum": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class Distribution:
    """Every field but n is None when it cannot be said from the samples."""

    n: int
    minimum: float | None = None
    p25: float | None = None
    median: float | None = None
    p75: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    maximum: float | None = None
    mean: float | None = None
    std: float | None = None
    median_interval: Interval | None = None

    @property
    def iqr(self) -> float | None:
        """Interquartile range p75 - p25; one sample has none."""
        return None if self.n < 2 or self.p25 is None or self.p75 is None else self.p75 - self.p25


def distribution(values: Values) -> Distribution:
    """Summarise the samples that are present; of none, only n = 0 is known."""
    x = clean(values)
    if x.size == 0:
        return Distribution(n=0)
    return Distribution(
        n=int(x.size),
        mean=float(np.mean(x)),
        std=float(np.std(x, ddof=1)) if x.size > 1 else None,
        median_interval=quantile_interval(x),
        **dict(zip(QUANTILES, np.quantile(x, list(QUANTILES.values())).tolist(), strict=True)),
    )
