"""Its server and its client, with their arguments. `@tool` is this folder, as the programs see it."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, client_and_server
from narrows.spec.traffic import Traffic


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """What is started in the two hosts."""
    at = f"{state.server_address}:{state.port(item, item_id, state.server, 8080)}"
    return client_and_server(
        item,
        item_id,
        state,
        at,
        server=("python3", "@tool/server.py", at),
        client=(
            *("python3", "@tool/client.py", f"http://{at}", "--seconds", f"{item['duration'].seconds:g}"),
            *("--every", f"{item['every'].seconds:g}", "--connections", str(item["connections"])),
        ),
    )
