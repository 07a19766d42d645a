"""RRUL: our bulk flows and probes, at the times and in the classes of Flent's definition."""

from typing import Any

from narrows.plan.items import AtTime, Composite, IcmpEcho, TcpBulk, TrafficItem, UdpProbe
from narrows.plan.lowering import Lowering
from narrows.spec.parsers import DSCP_NAMES
from narrows.spec.traffic import Traffic
from narrows.tools.bulk.lower import BULK_PORT
from narrows.tools.probes.lower import PROBE_PORT
from narrows.tools.rrul.spec import AnyRrul

ICMP_PAYLOAD_BYTES = 56
"""The payload that ping and fping send."""
CLASSES = {"BE": "CS0", "BK": "CS1", "CS5": "CS5", "EF": "EF"}
"""Flent's names of the classes, and their DSCP."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """`<id>.down-<class>` and `<id>.up-<class>`, `<id>.udp-<probe>` and `<id>.icmp`."""
    assert isinstance(item, AnyRrul)
    begin_ns = state.times.of(item_id).expected_start_ns
    load_ns = begin_ns + item["delay"].ns
    end_of_load_ns = load_ns + item["duration"].ns
    end_ns = begin_ns + item.whole().ns
    traffic_items: list[TrafficItem] = []
    for direction in ("down", "up"):
        ends = (state.server, state.client) if direction == "down" else (state.client, state.server)
        sender, receiver = ends
        for name in item.classes:
            part = f"{item_id}.{direction}-{name}"
            traffic_items.append(
                TcpBulk(
                    id=part,
                    item=item_id,
                    sender=sender,
                    receiver=receiver,
                    receiver_address=state.topology.address(receiver),
                    port=state.port(item, part, receiver, BULK_PORT),
                    flows=item["flows"] // len(item.classes),
                    cca=item["cca"],
                    dscp=DSCP_NAMES[CLASSES[name]],
                    ecn=item["ecn"],
                    bytes=None,
                    start_spread_ns=0,
                    sample_interval_ns=item["step"].ns,
                    start=AtTime(at_ns=load_ns),
                    stop=AtTime(at_ns=end_of_load_ns),
                )
            )
    asked: dict[str, Any] = {
        "item": item_id,
        "client": state.client,
        "server": state.server,
        "server_address": state.server_address,
        "interval_ns": item["step"].ns,
        "start": AtTime(at_ns=begin_ns),
        "stop": AtTime(at_ns=end_ns),
    }
    for probe, name in item.probes().items():
        part = f"{item_id}.udp-{probe}"
        port = state.port(item, part, state.server, PROBE_PORT)
        size, dscp = item["payload"].bytes, DSCP_NAMES[CLASSES[name]]
        traffic_items.append(UdpProbe(id=part, port=port, payload_bytes=size, dscp=dscp, **asked))
    traffic_items.append(IcmpEcho(id=f"{item_id}.icmp", payload_bytes=ICMP_PAYLOAD_BYTES, dscp=0, **asked))
    options = {
        "flows": item["flows"],
        "step_ns": item["step"].ns,
        "load_from_ns": load_ns,
        "load_to_ns": end_of_load_ns,
    }
    parts = tuple(each.id for each in traffic_items)
    tool = type(item).__name__
    state.composites.append(Composite(id=item_id, tool=tool, parts=parts, in_turn={}, options=options))
    return traffic_items
