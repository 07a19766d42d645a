"""identify: the agent's own server and client."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, background, foreground, receives
from narrows.spec.traffic import Traffic

IDENTIFY_PORT = 24603
BPS_PER_MBIT = 1_000_000


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    port = state.port(item, item_id, state.server, IDENTIFY_PORT)
    at = f"{state.server_address}:{port}"
    most = str(item["most_rate"].bps // BPS_PER_MBIT)
    server: tuple[str, ...] = ("@agent", "identify-server", "--listen", at, "--most-mbit", most)
    server += ("--clear-tos",) if item["cleared"] else ()
    client: tuple[str, ...] = ("@agent", "identify-client", "--server", at, "--ways", ",".join(item["ways"]))
    client += ("--mode", item["mode"], "--most-mbit", most)
    return [
        background(f"{item_id}-server", item_id, "identify-server", state.server, server, at),
        foreground(
            item, item_id, "identify", client, receives(state.server_address, port, "tcp", "udp"), state
        ),
    ]
