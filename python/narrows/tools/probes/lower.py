"""Probes: inside the agent."""

from narrows.plan.items import IcmpEcho, TrafficItem, UdpProbe
from narrows.plan.lowering import Lowering
from narrows.spec.traffic import Traffic
from narrows.tools.probes.spec import icmp_echo

PROBE_PORT = 5301


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """One isochronous stream."""
    return (_icmp if isinstance(item, icmp_echo) else _udp)(item, item_id, state)


def _udp(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    timing = state.times.of(item_id)
    return [
        UdpProbe(
            id=item_id,
            item=item_id,
            client=state.client,
            server=state.server,
            server_address=state.server_address,
            port=state.port(item, item_id, state.server, PROBE_PORT),
            interval_ns=item["interval"].ns,
            payload_bytes=item["payload"].bytes,
            dscp=item["dscp"],
            start=timing.start,
            stop=timing.stop,
        )
    ]


def _icmp(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    timing = state.times.of(item_id)
    return [
        IcmpEcho(
            id=item_id,
            item=item_id,
            client=state.client,
            server=state.server,
            server_address=state.server_address,
            interval_ns=item["interval"].ns,
            payload_bytes=item["payload"].bytes,
            dscp=item["dscp"],
            start=timing.start,
            stop=timing.stop,
        )
    ]
