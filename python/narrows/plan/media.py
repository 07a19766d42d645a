"""What is below IP at the bottleneck's interfaces, as the guest's kernel is told of it. Nothing here runs a
command."""

from narrows.plan.model import Medium
from narrows.plan.strict import Direction
from narrows.plan.topology import Topology
from narrows.spec.link import Link

WAYS: tuple[Direction, ...] = ("down", "up")


OF_SCHEDULES = ("by_demand", "splits", "overhead_bytes", "retries", "grant_turns", "repeat_ns")
"""What a plan says of a medium as its schedule does."""


def media(topology: Topology, link: Link) -> tuple[Medium, ...]:
    """The medium of each way that has one. Both ways of one medium share its air, where it has some."""
    cables = (topology.bottleneck_down_cable, topology.bottleneck_up_cable)
    both = link.media()
    made: list[Medium] = []
    for index, (way, medium, cable) in enumerate(zip(WAYS, both, cables, strict=True)):
        if medium is None or cable is None:
            continue
        schedule = medium.schedule(way)
        unit_ns, turns = schedule.text
        made.append(
            Medium(
                node=topology.bottleneck,
                iface=topology.at(topology.bottleneck, cable).name,
                direction=way,
                model=medium.described(),
                air=0
                if both[0] is not None and both[1] is not None and both[0].origin is both[1].origin
                else index,
                ring_bytes=medium["ring"].bytes,
                unit_ns=unit_ns,
                turns=turns,
                **{name: getattr(schedule, name) for name in OF_SCHEDULES},
            )
        )
    return tuple(made)
