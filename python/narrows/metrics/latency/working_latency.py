"""Working latency: how much latency load adds, as one named probe saw it.

Definition: quantile p of the round-trip times under load minus the median of the same probe's round-trip
times when idle. The median under load (p = 0.5) is the usual figure; a higher p tells of the tail. It can
be below zero by the probe's noise and is not clipped. None unless both phases have two samples.

Unit: that of the samples (ms or ns). Source: the notion of "latency under load" minus "idle latency" of
Ookla and of draft-ietf-ippm-responsiveness; the exact definition is ours and the probe must be named with
every value.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values, quantiles
from narrows.metrics.statistics.columns import sample


def working_latency(loaded: Values, idle: Values, p: float = 0.5) -> float | None:
    """Latency added by load."""
    under_load, at_rest = sample(loaded), sample(idle)
    if under_load is None or at_rest is None:
        return None
    return float(quantiles(under_load, [p])[0] - np.median(at_rest))
