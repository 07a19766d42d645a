"""Lowers the traffic of a run to the plan's items: programs with all their arguments, ports, addresses.

A speed test becomes two commands, its server (in the background, up before t = 0) and its client. Each tool's
own part is its `lower.py`.
"""

from narrows.plan.expand import ResolvedRun
from narrows.plan.files import with_files
from narrows.plan.items import AfterItem, Command, TrafficItem, WithItem
from narrows.plan.lowering import Lowering
from narrows.plan.own_tools import lowered
from narrows.plan.timing import Timetable
from narrows.plan.topology import Topology
from narrows.spec.home import Home
from narrows.spec.traffic import Traffic


def lower(run: ResolvedRun, topology: Topology, times: Timetable) -> tuple[tuple[TrafficItem, ...], Lowering]:
    """All items of a run, each server before its client; and what else was learnt: which of them are one
    tool, the ports whose packets are to be ECT(1), contents, settings of nodes."""
    state = Lowering(run, topology, times)
    # Ports that the experiment names are taken first, whatever the order.
    ordered = sorted(run.items.items(), key=lambda pair: pair[1].values.get("port") is None)
    made = {item_id: _lower(item, item_id, state) for item_id, item in ordered}
    items = [each for item_id in run.items for each in made[item_id]]
    seen: set[str] = set()
    for each in items:
        if each.id in seen:
            owner = run.items.get(each.id) or next(iter(run.items.values()))
            owner.fail(
                f"the id {each.id} is also that of a server which another item starts", "change its id="
            )
        seen.add(each.id)
    last = {each.id: each.parts[-1] for each in state.composites}
    items = [_with_references(each, last) for each in items]
    items = [with_files(each) if isinstance(each, Command) else each for each in items]
    return tuple(items), state


def _lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    link = state.run.link
    hosts = len(link.members()) if isinstance(link, Home) else link["services"]
    if item["host"] > hosts:
        have = f"the home has {hosts}" if isinstance(link, Home) else f"the link has nodes for {hosts}"
        if hosts == 1 and not isinstance(link, Home):
            have = "only a Home has several hosts, and a Link with services"
        item.fail(f"host={item['host']}, but {have}", "Home(hosts=…), Link(services=…), or a smaller number")
    state.host = item["host"]
    return lowered(item, item_id, state)


def _with_references(item: TrafficItem, last: dict[str, str]) -> TrafficItem:
    """What waits for a tool of several items waits for the last of them."""
    changes: dict[str, AfterItem | WithItem] = {}
    if isinstance(item.start, AfterItem) and item.start.after in last:
        changes["start"] = AfterItem(after=last[item.start.after], delay_ns=item.start.delay_ns)
    if isinstance(item.stop, WithItem) and item.stop.with_ in last:
        changes["stop"] = WithItem(with_=last[item.stop.with_])
    return item.model_copy(update=changes) if changes else item
