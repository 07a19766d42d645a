"""Result of an operator's capacity test: parallel TCP connections, the ramp omitted.

Definition: the test runs omit + duration seconds; the result is the bytes of all connections in the
intervals that lie wholly after the omitted time, times 8, over the time these intervals cover.
Retransmissions are counted over the same intervals. The share of the advertised speed is the result over
it. Without an omitted time slow start is part of the result and lowers it; with a longer one a short test
says less of the start that users feel.

Unit: bit/s of TCP payload (what iperf3 reports); times in s. Source: iperf3 --omit (intervals marked
"omitted" are left out of its sums); parameters as in Ledesma and Livingood, "Dual Queue & AQM Interplay
Between CCAs and Speed Tests" (IETF 123, ICCRG).
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values, raw
from narrows.metrics.statistics.columns import aligned

EDGE_S = 1e-3  # iperf3's intervals begin and end within a fraction of a millisecond of the whole second


@dataclass(frozen=True)
class CapacityTest:
    """Result after the ramp; retransmits is None where the tool does not say."""

    rate_bps: float
    seconds: float
    connections: int
    intervals: int
    retransmits: int | None


def capacity_test(
    connection: Values,
    start_s: Values,
    stop_s: Values,
    size_bytes: Values,
    omit_s: float,
    retransmits: Values | None = None,
) -> CapacityTest | None:
    """Takes one row per connection and interval; None with fewer than two rows after the omitted time."""
    again = None if retransmits is None else raw(retransmits)
    given = raw(size_bytes)
    if again is not None and again.size != given.size:
        raise ValueError(f"{given.size} intervals but {again.size} retransmits; each interval needs its own")
    which, start, stop, size = aligned(
        connection=connection, start_s=start_s, stop_s=stop_s, size_bytes=size_bytes
    )
    if (stop <= start).any():
        raise ValueError("an interval ends before it begins")
    order = np.lexsort((start, which))
    same = np.diff(which[order]) == 0
    if (same & (start[order][1:] < stop[order][:-1] - EDGE_S)).any():
        raise ValueError("two intervals of one connection overlap; sums and intervals may have been mixed")
    after = start >= omit_s - EDGE_S
    if np.count_nonzero(after) < 2:
        return None
    seconds = float(stop[after].max() - start[after].min())
    counted = None
    if again is not None and again.size == start.size and not np.isnan(again[after]).any():
        counted = int(again[after].sum())
    return CapacityTest(
        rate_bps=float(size[after].sum()) * 8.0 / seconds,
        seconds=seconds,
        connections=int(np.unique(which[after]).size),
        intervals=int(np.count_nonzero(after)),
        retransmits=counted,
    )
