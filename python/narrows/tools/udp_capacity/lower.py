"""UDP capacity: the agent's own server and client."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, background, foreground, receives
from narrows.spec.traffic import Traffic
from narrows.units import NS_PER_S

UDP_CAPACITY_PORT = 24601


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    port, at = state.listening(item, item_id, UDP_CAPACITY_PORT)
    server = ("@agent", "udp-capacity", "server", "--listen", at)
    client: tuple[str, ...] = (
        "@agent",
        "udp-capacity",
        "client",
        "--server",
        at,
        "--tests",
        ",".join(item["tests"]),
    )
    client += ("--duration-s", str(item["test_length"].ns // NS_PER_S), "--tolerated", str(item["tolerated"]))
    for name in ("lower", "upper"):
        client += (f"--{name}-ms", f"{item[name].seconds * 1000:g}")
    return [
        background(f"{item_id}-server", item_id, "udp-capacity-server", state.server, server, at),
        foreground(
            item, item_id, "udp_capacity", client, receives(state.server_address, port, "tcp", "udp"), state
        ),
    ]
