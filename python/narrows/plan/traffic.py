"""Lowers the traffic of a run to the plan's items: programs with all their arguments, ports, addresses.

A speed test becomes two commands, its server (in the background, up before t = 0) and its client. Each tool's
own part is a file of `narrows.plan.tools`.
"""

from __future__ import annotations

from collections.abc import Callable

from narrows.plan.expand import ResolvedRun
from narrows.plan.lowering import Lowering
from narrows.plan.model import AfterItem, Composite, TrafficItem, WithItem
from narrows.plan.timing import Timetable
from narrows.plan.topology import Topology
from narrows.spec.traffic import Traffic
from narrows.tools.bulk import lower as bulk
from narrows.tools.bulk.spec import bulk as Bulk
from narrows.tools.capacity_test import lower as capacity_test
from narrows.tools.capacity_test.spec import capacity_test as CapacityTest
from narrows.tools.cloudflare.spec import cloudflare as Cloudflare
from narrows.tools.command import lower as command
from narrows.tools.command.spec import command as AnyCommand
from narrows.tools.iperf3 import lower as iperf3
from narrows.tools.iperf3.spec import iperf3 as Iperf3
from narrows.tools.ndt7 import lower as ndt7
from narrows.tools.ndt7.spec import ndt7 as Ndt7
from narrows.tools.probes import lower as probes
from narrows.tools.probes.spec import icmp_echo, udp_probe
from narrows.tools.rpm import lower as rpm
from narrows.tools.rpm.spec import rpm as Rpm
from narrows.tools.rrul import lower as rrul
from narrows.tools.rrul.spec import rrul as Rrul
from narrows.tools.rrul.spec import rrul_be as RrulBe
from narrows.tools.udp_capacity import lower as udp_capacity
from narrows.tools.udp_capacity.spec import udp_capacity as UdpCapacity
from narrows.tools.web_speed import lower as web
from narrows.tools.web_speed.spec import web_speed as WebSpeed

_LOWER: dict[type[Traffic], Callable[[Traffic, str, Lowering], list[TrafficItem]]] = {
    Bulk: bulk.lower,
    Rrul: rrul.lower,
    RrulBe: rrul.lower,
    CapacityTest: capacity_test.lower,
    Cloudflare: web.lower_cloudflare,
    UdpCapacity: udp_capacity.lower,
    WebSpeed: web.lower_model,
    Ndt7: ndt7.lower,
    Rpm: rpm.lower,
    Iperf3: iperf3.lower,
    udp_probe: probes.lower_udp,
    icmp_echo: probes.lower_icmp,
    AnyCommand: command.lower,
}


def lower(
    run: ResolvedRun, topology: Topology, times: Timetable
) -> tuple[tuple[TrafficItem, ...], tuple[Composite, ...], tuple[int, ...]]:
    """All items of a run, each server before its client; which of them are one tool; and the ports whose
    packets are to be ECT(1)."""
    state = Lowering(run, topology, times)
    # Ports that the experiment names are taken first, whatever the order.
    ordered = sorted(run.items.items(), key=lambda pair: pair[1].values.get("port") is None)
    made = {item_id: _LOWER[type(item)](item, item_id, state) for item_id, item in ordered}
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
    return tuple(items), tuple(state.composites), tuple(sorted(state.l4s_ports))


def _with_references(item: TrafficItem, last: dict[str, str]) -> TrafficItem:
    """What waits for a tool of several items waits for the last of them."""
    changes: dict[str, AfterItem | WithItem] = {}
    if isinstance(item.start, AfterItem) and item.start.after in last:
        changes["start"] = AfterItem(after=last[item.start.after], delay_ns=item.start.delay_ns)
    if isinstance(item.stop, WithItem) and item.stop.with_ in last:
        changes["stop"] = WithItem(with_=last[item.stop.with_])
    return item.model_copy(update=changes) if changes else item
