"""Quality of Outcome: how far a path is from what an application needs, in percent.

Definition (draft-ietf-ippm-qoo-10, section 3.3): the least of three scores. Of latency, at each percentile
that the requirement names, and of loss: 100 up to what optimal performance requires, 0 from the point of
unacceptable performance on, linear between; of the percentiles the worst counts. Of throughput: 100 if the
least is reached, else 0. Percentiles are those of the samples, type 7 of Hyndman and Fan: the draft names no
estimator. A percentile that lies beyond the largest of the samples (p99.9 of 100) is the largest.

The draft has no requirement for any application. `EXAMPLE` is its own example of one.

Unit: percent. Latencies in ms, round trips or one way as the requirement says; loss as a share of 1; rates in
bit/s. What was not measured and is required makes the score None.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values, clean

LEAST_SAMPLES = 2
VERSION = "draft-ietf-ippm-qoo-10"


@dataclass(frozen=True)
class Requirement:
    """What an application needs: for each latency percentile (0 to 100) and for loss the pair of what optimal
    performance requires and what is unacceptable; and the least throughput."""

    latency_ms: Mapping[float, tuple[float, float]]
    loss: tuple[float, float]
    throughput_bps: float = 0.0

    def __post_init__(self) -> None:
        for optimal, unacceptable in (*self.latency_ms.values(), self.loss):
            if not 0 <= optimal < unacceptable:
                raise ValueError(f"optimal {optimal:g} is not below unacceptable {unacceptable:g}")


EXAMPLE = Requirement({99.0: (100.0, 200.0), 99.9: (200.0, 300.0)}, (0.001, 0.02), 4e6)


def qoo_of(
    latency_ms: Mapping[float, float], loss: float | None, throughput_bps: float | None, needed: Requirement
) -> float | None:
    """The score of measured percentiles, loss and throughput."""
    if loss is None or throughput_bps is None or any(p not in latency_ms for p in needed.latency_ms):
        return None
    pairs = [(latency_ms[p], limits) for p, limits in needed.latency_ms.items()] + [(loss, needed.loss)]
    if any(math.isnan(value) for value, _ in pairs):
        return None
    scores = [1 - (value - optimal) / (worst - optimal) for value, (optimal, worst) in pairs]
    if throughput_bps < needed.throughput_bps:
        return 0.0
    return 100.0 * min(1.0, max(0.0, min(scores)))


def qoo(
    latencies_ms: Values, loss: float | None, throughput_bps: float | None, needed: Requirement
) -> float | None:
    """The score of samples of latency; None with fewer than two, which have no distribution."""
    known = clean(latencies_ms)
    if known.size < LEAST_SAMPLES:
        return None
    measured = {p: float(np.percentile(known, p)) for p in needed.latency_ms}
    return qoo_of(measured, loss, throughput_bps, needed)
