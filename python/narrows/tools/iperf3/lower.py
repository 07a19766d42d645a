"""iperf3: its server and its client."""

from __future__ import annotations

from narrows.plan.lowering import Lowering, background, foreground, receives
from narrows.plan.model import TrafficItem
from narrows.spec.traffic import Traffic
from narrows.units import NS_PER_S

IPERF3_PORT = 5201
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
    """A server for one test, and its client."""
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
    if item["dscp"]:
        argv += ["--dscp", str(item["dscp"])]
    argv += way
    server = ("iperf3", "-s", "-1", "-p", str(port), "--json")
    # With UDP, TCP is what controls the test.
    ends = receives(address, port, "tcp", *(("udp",) if item["udp_rate"] is not None else ()))
    client = foreground(item, item_id, "iperf3", tuple(argv), ends, state)
    at, server_id = f"{address}:{port}", f"{item_id}-server"
    return [
        background(server_id, item_id, "iperf3-server", listener, server, at, ok_exits=SERVER_EXITS),
        client.model_copy(update={"node": caller}),
    ]
