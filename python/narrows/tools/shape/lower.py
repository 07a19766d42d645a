"""The shaper as a program of the home router, up before t = 0."""

from narrows.plan import home
from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, background
from narrows.qdiscs.cake import cake
from narrows.spec.home import Home
from narrows.spec.traffic import Traffic
from narrows.units import NS_PER_MS


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """One background command in the home router."""
    topology, link = state.topology, state.run.link
    if topology.home is None or not isinstance(link, Home):
        item.fail("shape: only a Home has a home router", "link = Home(router=home_router(egress=cake(), …))")
    router = link["router"]
    ways = item["ways"]
    for way, side in (("down", "ingress"), ("up", "egress")):
        queue = router[side]
        has = "none" if queue is None else queue.label()
        if way in ways and not isinstance(queue, cake):
            item.fail(
                f"shape: the home router's {side} queue is {has}, not cake",
                f"home_router({side}=cake()), or ways={'up' if way == 'down' else 'down'!r}",
            )
    argv = ["@agent", "shape", "run", "--wan", topology.wan.name, "--share", f"{item['share']:g}"]
    name = home.ifb(topology, link)
    if name is not None:
        argv += ["--ifb", name]
    if len(ways) == 1:
        argv += ["--only", ways[0]]
    if item["probe"]:
        places = {"@server": state.server_address, "@client": state.client_address}
        argv += ["--probe", ",".join(_placed(text, places) for text in item["probe"])]
    argv += ["--every-ms", str(item["log_interval"].ns // NS_PER_MS)]
    return [background(item_id, item_id, "shape", topology.home, tuple(argv), None)]


def _placed(text: str, places: dict[str, str]) -> str:
    for place, address in places.items():
        text = text.replace(place, address)
    return text
