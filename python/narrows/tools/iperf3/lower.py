"""iperf3: its server and its client."""

from narrows.plan.items import TrafficItem, Uses
from narrows.plan.lowering import Lowering, background, foreground, receives
from narrows.spec.traffic import Traffic
from narrows.units import NS_PER_S

IPERF3_PORT = 5201
IP_AND_TCP_BYTES = 40
SERVER_EXITS = (0, 1)
"""The server ends with 1 when its client is stopped before the test is over."""


def roles(state: Lowering, direction: str, dscp: int) -> tuple[str, str, tuple[str, ...]]:
    """The node of iperf3's server, that of its client, and the words that give the direction.

    iperf3's server (3.12) does not mark what it sends: where marks are asked for, the sender is the client.
    """
    if direction == "down" and dscp:
        return state.client, state.server, ()
    return state.server, state.client, {"down": ("-R",), "up": (), "both": ("--bidir",)}[direction]


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    listener, caller, way = roles(state, item["direction"], item["dscp"])
    port = state.port(item, item_id, listener, IPERF3_PORT)
    address = state.topology.address(listener)
    argv = ["iperf3", "-c", address, "-p", str(port), "--json"]
    # -t 0 runs until it is stopped.
    seconds = 0 if item["duration"] is None else item["duration"].ns // NS_PER_S
    argv += ["-n", str(item["bytes"].bytes)] if item["bytes"] else ["-t", str(seconds)]
    argv += ["-P", str(item["flows"]), "-i", f"{item['interval'].seconds:g}"]
    if item["omit"]:
        argv += ["-O", str(item["omit"].ns // NS_PER_S)]
    if item["udp_rate"] is not None:
        argv += ["-u", "-b", str(item["udp_rate"].bps)]
    else:
        argv += ["-C", item["cca"] or "cubic"]
        argv += [] if item["rate"] is None else ["-b", str(item["rate"].bps)]
        if item["mss"] is not None:
            most = state.run.link["mtu"] - IP_AND_TCP_BYTES
            if item["mss"].bytes > most:
                item.fail(f"mss: {item['mss']} would never act, as the MTU leaves {most} B", f'"{most} B"')
            argv += ["-M", str(item["mss"].bytes)]
    for name, word in (("length", "-l"), ("window", "-w")):
        argv += [] if item[name] is None else [word, str(item[name].bytes)]
    if item["dscp"]:
        argv += ["--dscp", str(item["dscp"])]
    argv += way
    server = ("iperf3", "-s", "-1", "-p", str(port), "--json")
    # With UDP, TCP is what controls the test.
    ends = receives(address, port, "tcp", *(("udp",) if item["udp_rate"] is not None else ()))
    cca = None if item["udp_rate"] is not None else item["cca"] or "cubic"
    mss = None if item["mss"] is None else item["mss"].bytes
    uses = None if cca is None else Uses(cca=cca, mss_bytes=mss)
    at, server_id = f"{address}:{port}", f"{item_id}-server"
    return [
        background(
            server_id, item_id, "iperf3-server", listener, server, at, ok_exits=SERVER_EXITS, uses=uses
        ),
        foreground(item, item_id, "iperf3", tuple(argv), ends, state, node=caller, uses=uses),
    ]
