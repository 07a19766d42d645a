"""Probes: inside the agent."""

from typing import Any

from narrows.plan.items import IcmpEcho, TrafficItem, UdpProbe
from narrows.plan.lowering import Lowering
from narrows.spec.traffic import Traffic
from narrows.tools.probes.spec import icmp_echo

PROBE_PORT = 5301


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    timing = state.times.of(item_id)
    told: dict[str, Any] = {
        "id": item_id,
        "item": item_id,
        "client": state.client,
        "server": state.server,
        "server_address": state.server_address,
        "interval_ns": item["interval"].ns,
        "payload_bytes": item["payload"].bytes,
        "dscp": item["dscp"],
        "start": timing.start,
        "stop": timing.stop,
    }
    if isinstance(item, icmp_echo):
        return [IcmpEcho(**told)]
    return [UdpProbe(port=state.port(item, item_id, state.server, PROBE_PORT), **told)]
