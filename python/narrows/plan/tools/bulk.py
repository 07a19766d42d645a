"""Bulk flows: our own sender and receiver, inside the agent."""

from __future__ import annotations

from narrows.plan.lowering import Lowering
from narrows.plan.model import TcpBulk, TrafficItem
from narrows.spec.traffic import Traffic

BULK_PORT = 5001


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """One item of any number of flows."""
    down = item["direction"] == "down"
    sender, receiver = (state.server, state.client) if down else (state.client, state.server)
    timing = state.times.of(item_id)
    return [
        TcpBulk(
            id=item_id,
            sender=sender,
            receiver=receiver,
            receiver_address=state.topology.address(receiver),
            port=state.port(item, item_id, receiver, BULK_PORT),
            flows=item["flows"],
            cca=item["cca"],
            dscp=item["dscp"],
            ecn=item["ecn"],
            bytes=item["bytes"].bytes if item["bytes"] else None,
            start_spread_ns=item["start_spread"].ns,
            sample_interval_ns=item["sample"].ns if item["sample"] else None,
            start=timing.start,
            stop=timing.stop,
        )
    ]
