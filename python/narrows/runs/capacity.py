"""What a run's link carried in a time, by its plan: also where its rate moves or `link.at` changes it.

The plan is the truth: nothing measured is read here.
"""

from __future__ import annotations

from narrows.metrics.rate.capacity import mean_capacity_bps
from narrows.plan.model import Plan


def capacity_bps(plan: Plan, direction: str, window: tuple[int, int] | None) -> float | None:
    """The mean rate of the link in a direction within a window in nanoseconds, or its first rate where no
    window is known; None where nothing shapes."""
    rate = plan.link.rate_down_bps if direction == "down" else plan.link.rate_up_bps
    moving = plan.moving
    truth = () if moving is None else moving.down if direction == "down" else moving.up
    if not truth or window is None:
        return None if rate is None else float(rate)
    return mean_capacity_bps([(step.at_ns, step.rate_bps) for step in truth], window)
