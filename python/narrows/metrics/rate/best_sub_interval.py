"""Throughput of the best sub-interval: the maximum IP-layer capacity.

Definition (RFC 9097, section 5.3; ITU-T Y.1540 Annex A; BBF TR-471): the test of 10 s is cut into
sub-intervals of dt = 1 s; the capacity is the largest number of bits received in one of them over dt. Only
whole sub-intervals count; the first of equals is the result. RFC 9097 counts bits of the IP header and
above: give sizes of that layer. Loss share and delay variation (delay minus the smallest delay of the test)
of the best sub-interval belong beside the number, because it is chosen for its rate alone: a maximum over
noise lies above the mean.

Unit: bit/s; times in ns.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned
from narrows.units import NS_PER_S

SUB_INTERVAL_NS = 1_000_000_000


@dataclass(frozen=True)
class BestSubInterval:
    """The best sub-interval and the mean over all, to see what choosing the best did."""

    capacity_bps: float
    mean_bps: float
    index: int
    sub_intervals: int


def best_sub_interval(
    received_ns: Values,
    size_bytes: Values,
    start_ns: int,
    stop_ns: int,
    sub_interval_ns: int = SUB_INTERVAL_NS,
) -> BestSubInterval | None:
    """Takes the packets received in [start, stop); None with fewer than two sub-intervals or no packets."""
    t, size = aligned(received_ns=received_ns, size_bytes=size_bytes)
    count = (stop_ns - start_ns) // sub_interval_ns
    if count < 2:
        return None
    inside = (t >= start_ns) & (t < start_ns + count * sub_interval_ns)
    if not inside.any():
        return None
    index = ((t[inside] - start_ns) // sub_interval_ns).astype(np.int64)
    rates = np.bincount(index, weights=size[inside], minlength=count) * 8.0 * NS_PER_S / sub_interval_ns
    best = int(np.argmax(rates))
    return BestSubInterval(float(rates[best]), float(np.mean(rates)), best, int(count))
