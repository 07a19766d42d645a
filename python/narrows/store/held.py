"""A queue that holds packets and sends none, such as a qdisc whose `dequeue` gives nothing.

It does not judge one that is slow: where a medium or a rate that moves takes turns away, or netem delays,
there may be none for a while.
"""

from typing import Any

import numpy as np

from narrows.plan.model import Hop, Plan
from narrows.store import queue_table, tap
from narrows.store.agent_result import AgentResult
from narrows.units import NS_PER_S

STILL_NS = NS_PER_S
STILL_FRAMES = 10
"""So long, and as long as so many full packets take at the lowest rate of the link."""


def when_failed(plan: Plan, result: AgentResult) -> str:
    """Words for the line of a run whose packets did not arrive: the queues in which packets are."""
    found = [
        f"{_name(hop, holds)} holds {holds['qlen']} packets and has sent {holds['packets']}"
        for hop in plan.hops
        if (holds := _holds(hop, result)) is not None
    ]
    return f" ({'; '.join(found)})" if found else ""


def warnings(plan: Plan, result: AgentResult, data: tap.Tap | None) -> list[str]:
    """A line for each queue that sent nothing more from some time on, and held packets."""
    if data is None or plan.moving is not None or plan.media:
        return []
    lines = []
    epoch_ns = result.epoch_monotonic_ns or 0
    for number, hop in enumerate(plan.hops):
        holds = _holds(hop, result)
        if hop.tap == "drops" or holds is None or holds["kind"] == "netem":
            continue
        packets = data.of_hop(number)
        held = packets[packets["outcome"] == tap.QUEUED]
        left = queue_table.leaving_ns(packets[packets["outcome"] != tap.QUEUED], epoch_ns)
        if not held.size:
            continue
        since_ns = int(max(np.max(left, initial=0), queue_table.arrival_ns(held, epoch_ns).min()))
        looked_ns = int(queue_table.leaving_ns(held, epoch_ns).max())
        if looked_ns - since_ns > _slow_ns(plan, hop):
            since = f"sent none from {since_ns / NS_PER_S:.3f} s on"
            lines.append(f"{_name(hop, holds)} holds {held.size} packets and {since}")
    return lines


def _holds(hop: Hop, result: AgentResult) -> dict[str, Any] | None:
    """The innermost qdisc of a hop in which tc last saw packets."""
    shown = ((result.tc_after.get(hop.node) or {}).get(hop.iface) or {}).get("qdisc") or []
    return next((qdisc for qdisc in reversed(shown) if qdisc.get("qlen")), None)


def _name(hop: Hop, qdisc: dict[str, Any]) -> str:
    return f"hop {hop.hop} {hop.direction}: {qdisc['kind']}"


def _slow_ns(plan: Plan, hop: Hop) -> int:
    way = plan.link.down if hop.direction == "down" else plan.link.up
    rates = [rate for rate in (way.rate_bps, *(each.rate_bps for each in way.changes)) if rate]
    frames_ns = STILL_FRAMES * plan.link.mtu_bytes * 8 * NS_PER_S // min(rates) if rates else 0
    return max(STILL_NS, frames_ns)
