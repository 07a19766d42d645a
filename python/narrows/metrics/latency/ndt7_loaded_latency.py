"""Loaded latency of an NDT7 test, from its RTT series, beside what its client calls latency.

Definition: the distribution of the sender's TCPInfo.RTT (the kernel's smoothed RTT, one sample per
measurement message, about 40 in 10 s) is the latency under load as TCP saw it. The official client shows
the last TCPInfo.MinRTT as "latency": the smallest RTT of the connection, which a queue that was empty once
leaves untouched. Added latency = median RTT - last MinRTT; inflation = median RTT / last MinRTT. Both
understate a queue that stood before the connection began, because MinRTT then contains it.

A smoothed RTT is not a probe: it weighs each ACK by 1/8 and is sampled at random instants.

Unit: µs in (as in the messages), ms out. Source: m-lab/ndt-server, spec/ndt7-protocol.md v0.11; RFC 6298
for the smoothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean
from narrows.metrics.statistics.columns import sample

US_PER_MS = 1e3


@dataclass(frozen=True)
class LoadedLatency:
    """What the RTT series says, and what the client would have shown."""

    shown_latency_ms: float
    median_ms: float
    p95_ms: float
    maximum_ms: float
    messages: int

    @property
    def added_ms(self) -> float:
        """Median RTT above the last MinRTT."""
        return self.median_ms - self.shown_latency_ms

    @property
    def inflation(self) -> float | None:
        """Median RTT over the last MinRTT."""
        return self.median_ms / self.shown_latency_ms if self.shown_latency_ms > 0 else None


def ndt7_loaded_latency(rtt_us: Values, min_rtt_us: Values) -> LoadedLatency | None:
    """Of the two series in the order of the messages; None with fewer than two RTTs or without MinRTT."""
    rtt, smallest = sample(rtt_us), clean(min_rtt_us)
    if rtt is None or smallest.size == 0:
        return None
    median, p95, maximum = (float(q) / US_PER_MS for q in np.quantile(rtt, [0.5, 0.95, 1.0]))
    return LoadedLatency(float(smallest[-1]) / US_PER_MS, median, p95, maximum, int(rtt.size))
