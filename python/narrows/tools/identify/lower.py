"""identify: the agent's own server and client."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, client_and_server
from narrows.spec.traffic import Traffic

IDENTIFY_PORT = 24603
BPS_PER_MBIT = 1_000_000


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    _, at = state.listening(item, item_id, IDENTIFY_PORT)
    most = str(item["most_rate"].bps // BPS_PER_MBIT)
    server: tuple[str, ...] = ("@agent", "identify-server", "--listen", at, "--most-mbit", most)
    server += ("--clear-tos",) if item["cleared"] else ()
    client: tuple[str, ...] = ("@agent", "identify-client", "--server", at, "--ways", ",".join(item["ways"]))
    client += ("--mode", item["mode"], "--most-mbit", most)
    return list(client_and_server(item, item_id, state, at, server=server, client=client))
