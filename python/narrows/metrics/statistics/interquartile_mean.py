"""Interquartile mean: the mean of the middle half of the samples.

Definition: the samples are sorted, a quarter is cut off at each end, and the rest is averaged; where n is
not a multiple of four the samples at the edges count with the fraction of them that lies inside. It ignores
spikes below a quarter of the time altogether.

It stands for the loaded latency of Ookla-like tests. Ookla's program is closed: this is a MODEL of its
published description ("interquartile mean of the latencies under load"), not its code, and is to be
labelled so.

Unit: that of the samples. Source: the textbook statistic; for the use, Ookla's documentation of loaded
latency.
"""

from narrows.metrics.statistics.arrays import Values, partitioned
from narrows.metrics.statistics.columns import sample


def interquartile_mean(values: Values) -> float | None:
    """Mean of the middle half; None with fewer than two samples."""
    x = sample(values)
    if x is None:
        return None
    n = int(x.size)
    low = n // 4
    edge = 1.0 - (n / 4.0 - low)  # what is left of the samples at both edges
    middle = partitioned(x, low, n - low - 1)[low : n - low]
    first, last = middle.min(), middle.max()
    inner = float(middle.sum()) - float(first) - float(last)
    return (inner + edge * float(first + last)) / (n / 2.0)
