"""What a run records: queues, the senders' TCP, samplers and captures."""

from narrows.errors import did_you_mean
from narrows.plan.expand import ResolvedRun
from narrows.plan.items import TcpBulk, TrafficItem
from narrows.plan.model import (
    BOTTLENECK_HOP,
    HOME_HOP,
    ISP_HOP,
    Capture,
    FlowTap,
    FlowWatch,
    FlowWindow,
    Hop,
    LinkSampler,
    LinkSummary,
    QdiscSampler,
    Sampler,
    TcpInfoSampler,
)
from narrows.plan.strict import Direction
from narrows.plan.topology import HOST_ROLES, Topology
from narrows.spec.dumbbell import Dumbbell

TAP_INTERVAL_NS = 10_000_000


def hops(run: ResolvedRun, topology: Topology, link: LinkSummary) -> tuple[Hop, ...]:
    """The queues whose truth is recorded; of a Home the ISP's come first."""
    detail, interval = run.tap["detail"], run.tap["interval"]
    interval_ns = TAP_INTERVAL_NS if interval is None else interval.ns

    def hop(name: str, direction: Direction, node: str, iface: str, ingress: tuple[str, ...]) -> Hop:
        return Hop(
            hop=name, direction=direction, node=node, iface=iface, ingress=ingress,
            tap=detail, tap_interval_ns=interval_ns,
        )  # fmt: skip

    router = topology.bottleneck
    name = BOTTLENECK_HOP if link.home is None else ISP_HOP
    down = topology.at(router, topology.bottleneck_down_cable).name
    if topology.bottleneck_up_cable is None:
        others = tuple(i.name for i in topology.of(router) if i.name != down)
        return (hop(name, "down", router, down, others),)
    up = topology.at(router, topology.bottleneck_up_cable).name
    made = [hop(name, "down", router, down, (up,)), hop(name, "up", router, up, (down,))]
    if link.home is not None:
        wan = topology.wan
        if link.home.down is not None and link.home.ifb is not None:
            made.append(hop(HOME_HOP, "down", wan.node, link.home.ifb, (wan.name,)))
        if link.home.up is not None:
            hosts = tuple(i.name for i in topology.of(wan.node) if i != wan)
            made.append(hop(HOME_HOP, "up", wan.node, wan.name, hosts))
    return tuple(made)


def flow_tap(run: ResolvedRun, traffic: tuple[TrafficItem, ...]) -> FlowTap | None:
    """Watches the senders of all bulk flows."""
    asked = run.flow_tap
    if asked is None:
        return None
    flows = [item for item in traffic if isinstance(item, TcpBulk)]
    return FlowTap(
        watch=tuple(FlowWatch(node=item.sender, port=item.port) for item in flows),
        window=FlowWindow(start_ns=asked["warm_up"].ns, stop_ns=None),
        sample_interval_ns=None if asked["interval"] is None else asked["interval"].ns,
    )


def samplers(run: ResolvedRun, topology: Topology, hops: tuple[Hop, ...]) -> tuple[Sampler, ...]:
    """What is read again and again: sockets, qdiscs, counters of interfaces."""
    made: list[Sampler] = []
    every = run.sample
    many = isinstance(run.link, Dumbbell)
    hosts = [node for node in topology.nodes if node.role in HOST_ROLES]
    # Thousands of sockets a hundred times a second are more than what they are asked about.
    if every["tcp_info"] is not None and (not many or "tcp_info" in every.given):
        made += [
            TcpInfoSampler(id=f"tcp-{n.name}", node=n.name, interval_ns=every["tcp_info"].ns) for n in hosts
        ]
    if every["qdisc"] is not None:
        for hop in hops:
            name = f"qdisc-{hop.hop}-{hop.direction}" if hop.hop == HOME_HOP else f"qdisc-{hop.direction}"
            made.append(QdiscSampler(id=name, node=hop.node, iface=hop.iface, interval_ns=every["qdisc"].ns))
    if every["link"] is not None:
        for node in topology.nodes:
            ends = topology.of(node.name)
            for i in ends:
                name = f"link-{node.name}" if len(ends) == 1 else f"link-{node.name}-{i.name}"
                made.append(LinkSampler(id=name, node=node.name, iface=i.name, interval_ns=every["link"].ns))
    return tuple(made)


def captures(run: ResolvedRun, topology: Topology) -> tuple[Capture, ...]:
    """Packet captures, each at its interface."""
    router = topology.bottleneck
    places = {
        "client": topology.of(topology.named("client")[0])[0],
        "server": topology.of(topology.named("server")[0])[0],
        "bottleneck-down": topology.at(router, topology.bottleneck_down_cable),
    }
    if topology.bottleneck_up_cable is not None:
        places["bottleneck-up"] = topology.at(router, topology.bottleneck_up_cable)
    names = list(places)
    places |= {f"{each.node}:{each.name}": each for each in topology.interfaces}
    for capture in run.captures.values():
        if capture["at"] not in places:
            listed = [*names, *list(places)[len(names) :][:8]]  # of a thousand senders, some
            capture.fail(f"there is no {capture['at']} here", did_you_mean(capture["at"], listed))
    return tuple(
        Capture(
            id=name,
            node=places[capture["at"]].node,
            iface=places[capture["at"]].name,
            snap_bytes=capture["snap"].bytes,
            start_ns=capture["start"].ns,
            stop_ns=None if capture["stop"] is None else capture["stop"].ns,
        )
        for name, capture in run.captures.items()
    )
