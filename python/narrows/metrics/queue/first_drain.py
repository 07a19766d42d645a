"""When a queue that had been full first drained.

Definition: a queue is full in the first interval whose mean backlog is at least FULL of its limit. It
drained in the first later interval whose lowest backlog is at most DRAINED of the limit, if that begins
before `stop_ns`, when the flows stop. Until then no flow sees the path without a queue, and one that takes
the lowest RTT it knows for the base RTT (BBR) takes the full queue's for it.

Unit: ns, at the interval's start.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned, ascending

FULL = 0.95
DRAINED = 0.1


@dataclass(frozen=True)
class Drain:
    """None: the queue was never full, or never drained after it had been."""

    full_ns: int | None
    drained_ns: int | None


def first_drain(t_ns: Values, mean: Values, lowest: Values, limit: float, stop_ns: int) -> Drain:
    """Takes the mean and the lowest backlog per interval, in order of time, in the unit of the limit."""
    times, means, lows = aligned(t_ns=t_ns, mean=mean, lowest=lowest)
    ascending(times, "t_ns")
    if limit <= 0:
        raise ValueError(f"limit {limit}: it must be above zero")
    in_time = times < stop_ns
    full = np.flatnonzero(in_time & (means >= FULL * limit))
    if not full.size:
        return Drain(None, None)
    drained = np.flatnonzero(in_time & (lows <= DRAINED * limit))
    after = drained[drained > full[0]]
    return Drain(round(times[full[0]]), round(times[after[0]]) if after.size else None)
