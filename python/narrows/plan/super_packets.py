"""Refuses what the queue tap cannot follow: a qdisc that splits super-packets into packets of its own.

With segmentation offloads on, what arrives at a queue may be a super-packet of up to 64 KB. CAKE, DualPI2 and
a token bucket that is smaller than it queue its segments instead, of which the tap knows nothing.
"""

from __future__ import annotations

from narrows.errors import PlanError
from narrows.plan.model import LinkDirection, Plan

OFFLOADS = ("tso", "gso", "gro")
KEPT_WHOLE = {
    "cake": ("no-split-gso", "cake(split_gso=False)"),
    "dualpi2": ("no_split_gso", "dualpi2(split_gso=False)"),
}
"""The word of tc that keeps super-packets whole, and how an experiment says so."""
LARGEST_BYTES = 70_000
"""64 KB of payload with the headers of all its segments."""


def has_super_packets(plan: Plan) -> bool:
    """Whether any interface has an offload that makes or keeps them."""
    words = [step.args for step in plan.setup if step.tool == "ethtool"]
    return any(
        args[n : n + 2] == (name, "on") for args in words for n in range(len(args)) for name in OFFLOADS
    )


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
    word, instead = KEPT_WHOLE.get(direction.queue or "", ("", ""))
    if word and word not in direction.queue_options:
        return str(direction.queue), instead
    burst = direction.burst_bytes
    if direction.shaper == "tbf" and burst is not None and burst < LARGEST_BYTES:
        return f"tbf with a burst of {burst} bytes", f'a burst of "{LARGEST_BYTES // 1000} KB"'
    return None
