"""Refuses what the queue tap cannot follow: a qdisc that splits super-packets into packets of its own.

With segmentation offloads on, what arrives at a queue may be a super-packet of up to 64 KB. CAKE, DualPI2 and
a token bucket that is smaller than it queue its segments instead, of which the tap knows nothing.
"""

from narrows.errors import PlanError
from narrows.plan.model import LinkDirection, Plan

OFFLOADS = ("tso", "gso", "gro")
LARGEST_BYTES = 70_000
"""64 KB of payload with the headers of all its segments."""


def has_super_packets(plan: Plan) -> bool:
    """Whether any interface has an offload that makes or keeps them."""
    return any(plan.link.offloads.get(name, False) for name in OFFLOADS)


def check(plan: Plan, where: str | None = None) -> None:
    """Raise if a tapped queue would split them."""
    if not has_super_packets(plan):
        return
    for hop in plan.hops:
        direction = plan.link.queue_at(hop.hop, hop.direction)
        found = None if hop.tap == "off" else _splits(direction)
        if found is not None:
            what, instead = found
            raise PlanError(
                f"offloads are on and {what} ({hop.direction}) splits super-packets, "
                "which the tap cannot follow",
                where=where,
                remedy=f'{instead}, no offloads, or tap("off")',
            )


def _splits(direction: LinkDirection) -> tuple[str, str] | None:
    """What splits, and what would not."""
    if direction.splits_super_packets:
        return direction.queue, f"{direction.queue}(split_gso=False)"
    burst = direction.burst_bytes
    if direction.shaper == "tbf" and burst is not None and burst < LARGEST_BYTES:
        return f"tbf with a burst of {burst} bytes", f'a burst of "{LARGEST_BYTES // 1000} KB"'
    return None
