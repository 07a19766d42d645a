"""The capacity test: one iperf3 test per direction, one after the other, each with its own server and
port."""

from narrows.plan.items import AfterItem, Composite, TrafficItem
from narrows.plan.lowering import Lowering, background, foreground, receives
from narrows.plan.strict import Direction
from narrows.spec.traffic import Traffic
from narrows.tools.capacity_test.spec import capacity_test
from narrows.tools.iperf3.lower import IPERF3_PORT, SERVER_EXITS, roles
from narrows.units import NS_PER_S


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """For each direction `<id>.<direction>`, and its server."""
    assert isinstance(item, capacity_test)
    traffic_items: list[TrafficItem] = []
    parts: dict[Direction, str] = {}
    for direction in item.directions():
        part = f"{item_id}.{direction}"
        last = next(reversed(parts.values()), None)
        # A port that the experiment names is the first direction's; the next takes the one after it.
        listener, caller, way = roles(state, direction, item["dscp"])
        port = state.port(item, item_id, listener, IPERF3_PORT, offset=len(parts))
        address = state.topology.address(listener)
        argv = ["iperf3", "-c", address, "-p", str(port), "--json"]
        argv += ["-t", str(item["duration"].ns // NS_PER_S), "-O", str(item["omit"].ns // NS_PER_S)]
        argv += ["-P", str(item["connections"]), "-i", f"{item['interval'].seconds:g}", "-C", item["cca"]]
        argv += ["--dscp", str(item["dscp"])] if item["dscp"] else []
        argv += way
        server = ("iperf3", "-s", "-1", "-p", str(port), "--json")
        ends = receives(address, port, "tcp")
        client = foreground(item, item_id, "capacity_test", tuple(argv), ends, state, cca=item["cca"])
        start = AfterItem(after=last, delay_ns=item["pause"].ns) if last else client.start
        traffic_items += [
            background(
                f"{part}-server",
                item_id,
                "iperf3-server",
                listener,
                server,
                f"{address}:{port}",
                ok_exits=SERVER_EXITS,
                cca=item["cca"],
            ),
            client.model_copy(update={"id": part, "node": caller, "start": start}),
        ]
        parts[direction] = part
    link = state.run.link
    advertised = {
        "advertised_down_bps": (item["advertised"] or link["rate"]).bps,
        "advertised_up_bps": (item["advertised_up"] or link.up("rate")).bps,
    }
    options = {"omit_ns": item["omit"].ns, "duration_ns": item["duration"].ns, **advertised}
    state.composites.append(
        Composite(
            id=item_id, tool="capacity_test", parts=tuple(parts.values()), in_turn=parts, options=options
        )
    )
    return traffic_items
