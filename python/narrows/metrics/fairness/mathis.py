"""The constant C of the Mathis model, fitted to flows, and how well the model then predicts them.

Definition: T = MSS x C / (RTT x sqrt(p)). C is the one that makes the sum of the squared prediction errors
over the flows smallest: with x = MSS / (RTT sqrt(p)), C = sum(T x) / sum(x^2). The error is the median over
the flows of |T - C x| / T. p is either the packets lost or the congestion-window halvings, over the packets
sent; the model's authors meant the second for SACK, most users take the first, and at scale the two part.
One halving per loss event: count reductions, never polls of the window.

Flows without an event (p = 0) or without throughput cannot be predicted; they are left out and counted. The
error is of the same flows that C was fitted on: it says how well one C serves all, not how well a C from
elsewhere would.

Unit: C none; throughput in bit/s, MSS in bytes, RTT in s. Source: Mathis, Semke, Mahdavi, Ott, "The
Macroscopic Behavior of the TCP Congestion Avoidance Algorithm" (1997), equation 3, and its section on
deriving C empirically.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values
from narrows.metrics.statistics.columns import aligned


@dataclass(frozen=True)
class Mathis:
    """C, the median relative error (share of 1), the flows fitted, and those left out."""

    c: float
    median_error: float
    flows: int
    left_out: int


def mathis(
    throughput_bps: Values, rtt_s: Values, events: Values, packets_sent: Values, mss_bytes: float
) -> Mathis | None:
    """Fit on per-flow counts of events (losses, or halvings); None with fewer than two flows to fit."""
    if mss_bytes <= 0:
        raise ValueError(f"MSS {mss_bytes} bytes: it must be above zero")
    rate, rtt, count, sent = aligned(
        throughput_bps=throughput_bps, rtt_s=rtt_s, events=events, packets_sent=packets_sent
    )
    if (count < 0).any() or (sent < 0).any() or (rate < 0).any() or (rtt < 0).any():
        raise ValueError("a throughput, RTT or count is below zero")
    usable = (count > 0) & (sent > 0) & (rate > 0) & (rtt > 0)
    rate = rate[usable]
    if rate.size < 2:
        return None
    p = count[usable] / sent[usable]
    x: Floats = 8.0 * mss_bytes / (rtt[usable] * np.sqrt(p))
    c = float(np.dot(rate, x) / np.dot(x, x))
    error = float(np.median(np.abs(rate - c * x) / rate))
    return Mathis(c, error, int(rate.size), int(usable.size - rate.size))
