"""nginx with generated pages under many host names, and a client that starts a browser for each load."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, receives
from narrows.spec.traffic import Traffic
from narrows.tools.services.lower import client, nginx

SEED = 1
GENERATOR = "@checkout/tools/page/client/make_pages.py"


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    kind = item["kind"]
    recipe = (("python3", GENERATOR, kind, str(SEED)),)
    place = state.content(f"the page of {kind}", recipe, ("python3",))
    port, at = state.listening(item, item_id, 80)
    # Every host name is this server; pages on other origins may be asked when they were shown.
    locations = (f'location / {{ root {place}; add_header Timing-Allow-Origin "*"; }}',)
    options = {
        "server": state.server_address,
        "port": port,
        "loads": item["loads"],
        "every": item["every"].ns // 10**6,
    }
    ends = receives(state.server_address, port, "tcp")
    return [nginx(item, item_id, state, at, locations), client(item, item_id, state, ends, options)]
