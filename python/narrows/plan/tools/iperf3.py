"""iperf3: its server and its client."""

from __future__ import annotations

from narrows.plan.lowering import Lowering, background, foreground
from narrows.plan.model import TrafficItem
from narrows.spec.traffic import Traffic
from narrows.units import NS_PER_S

IPERF3_PORT = 5201
SERVER_EXITS = (0, 1)
"""The server ends with 1 when its client is stopped before the test is over."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """A server for one test, and its client."""
    port = state.port(item, item_id, state.server, IPERF3_PORT)
    address = state.server_address
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
    argv += {"down": ["-R"], "up": [], "both": ["--bidir"]}[item["direction"]]
    server = ("iperf3", "-s", "-1", "-p", str(port), "--json")
    return [
        background(
            f"{item_id}-server", "iperf3-server", state.server, server, f"{address}:{port}", SERVER_EXITS
        ),
        foreground(item, item_id, "iperf3", tuple(argv), state),
    ]
