"""Packets lost per halving of a congestion window.

Definition: of all flows together, packets lost over window reductions (`ratio`); and the median over flows
of each flow's own ratio, of flows with at least one reduction (`median_of_flows`). The first weighs flows
by their reductions. 1 means that every loss was an event of its own; more, that losses come in bursts
within one round trip.

Lost is what the bottleneck dropped of the flow; a retransmission is not a loss. Reductions after a
retransmission timeout set the window to one segment and are not halvings: count them apart.

Unit: packets per halving.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned


@dataclass(frozen=True)
class LossesPerHalving:
    """Ratio of the totals and median of the flows' ratios."""

    ratio: float
    median_of_flows: float
    flows: int
    flows_without_halving: int


def losses_per_halving(losses: Values, halvings: Values) -> LossesPerHalving | None:
    """Computes it from per-flow counts; None with fewer than two flows that halved."""
    lost, halved = aligned(losses=losses, halvings=halvings)
    if (lost < 0).any() or (halved < 0).any():
        raise ValueError("a count is below zero")
    some = halved > 0
    if np.count_nonzero(some) < 2:
        return None
    return LossesPerHalving(
        ratio=float(lost.sum() / halved.sum()),
        median_of_flows=float(np.median(lost[some] / halved[some])),
        flows=int(lost.size),
        flows_without_halving=int(lost.size - np.count_nonzero(some)),
    )
