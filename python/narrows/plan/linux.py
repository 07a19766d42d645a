"""Lowers a link over a topology to the exact `ip`, `tc`, `ethtool` and `sysctl` steps, and its changes.

The bottleneck's shaper and queue sit on the two interfaces of the bottleneck's node; delay, jitter, loss and
the line rate are netem on the path's node, because netem on a host would change TCP (small queues would see
it); in a Dumbbell netem is on the router's interfaces towards the senders. Nothing here runs a command.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from narrows.plan import home, sysctls
from narrows.plan.bottleneck import (
    DirectionSpec,
    asked_qdisc,
    buckets,
    own_queue,
    queue_asked,
    queue_steps,
    rate_change,
    summarised,
)
from narrows.plan.model import Asked, Change, DirectionChange, LinkSummary, Pair, Step
from narrows.plan.topology import HOST_ROLES, Interface, Topology
from narrows.spec.base import SpecObject
from narrows.spec.dumbbell import Dumbbell
from narrows.spec.home import Home
from narrows.spec.link import Link, split_delay
from narrows.tc.options import Number, arguments
from narrows.tc.qdisc import Qdisc, QueueContext
from narrows.units import Duration, Rate

NETEM_LIMIT_PACKETS = 10_000_000
"""netem drops above its limit, 1000 by default; this never fills (120 s of full frames at 1 Gbit/s)."""

IN_ORDER_RATE = Rate(10**11)
"""120 ns for a full packet."""

OFFLOADS_OFF = {"tso": False, "gso": False, "gro": False, "tx-udp-segmentation": False}
"""A super-packet of 64 KB is nothing that a bottleneck on a wire queues. Checksums stay offloaded: they only
cost CPU."""


@dataclass(frozen=True)
class PathState:
    """What netem does in one direction."""

    delay: Duration
    jitter: Duration
    loss_percent: float
    line_rate: Rate | None
    loss_burst: float = 1
    duplicate_percent: float = 0
    reorder_percent: float = 0
    keeps_order: bool = False

    def rate(self) -> Rate | None:
        """What netem lets pass: the line's rate, or so much that it only keeps packets in order, which
        without a rate netem sends as their times come (net/sched/sch_netem.c, netem_enqueue)."""
        if self.line_rate is None and self.keeps_order and self.jitter:
            return IN_ORDER_RATE
        return self.line_rate

    def changes_nothing(self) -> bool:
        """Whether the path is left as the hosts make it, without netem."""
        return not (
            self.delay or self.jitter or self.loss_percent or self.line_rate or self.duplicate_percent
        )

    def words(self) -> tuple[str, ...]:
        made = ["netem", "limit", str(NETEM_LIMIT_PACKETS), "delay", self.delay.tc()]
        if self.jitter:
            made.append(self.jitter.tc())
        if self.loss_percent and self.loss_burst > 1:
            # Gilbert: all is lost in the bad state, which lasts `loss_burst` packets on average.
            begins, ends = self.burst_percents()
            made += ["loss", "gemodel", f"{begins:g}%", f"{ends:g}%", "100%", "0%"]
        elif self.loss_percent:
            made += ["loss", "random", f"{self.loss_percent:g}%"]
        if self.duplicate_percent:
            made += ["duplicate", f"{self.duplicate_percent:g}%"]
        if self.reorder_percent:
            made += ["reorder", f"{self.reorder_percent:g}%"]
        rate = self.rate()
        if rate is not None:
            made += ["rate", rate.tc()]
        return tuple(made)

    def burst_percents(self) -> tuple[float, float]:
        """How likely a burst of losses begins, and ends."""
        ends = 100 / self.loss_burst
        return self.loss_percent * ends / (100 - self.loss_percent), ends

    def asked(self, interface: Interface) -> Asked:
        """What the kernel is to keep of it."""
        options: dict[str, Number] = {
            "limit": NETEM_LIMIT_PACKETS,
            "delay": self.delay.ns,
            "jitter": self.jitter.ns,
            "loss": 0 if self.loss_burst > 1 else self.loss_percent,
            "rate": 0 if (rate := self.rate()) is None else rate.bps,
        }
        if self.loss_percent and self.loss_burst > 1:
            options["burst_begins"], options["burst_ends"] = self.burst_percents()
        if self.duplicate_percent or self.reorder_percent:
            options |= {"duplicate": self.duplicate_percent, "reorder": self.reorder_percent}
        return asked_qdisc(interface.node, interface.name, "1:", "netem", options)


@dataclass(frozen=True)
class LinkState:
    """The link at one moment: the start, or after a change."""

    rates: tuple[Rate, Rate]
    paths: tuple[PathState, PathState]


def initial_state(link: Link) -> LinkState:
    """The link at the start of a run; pairs are (down, up)."""
    down, up = link.delays()
    return LinkState(
        rates=(link["rate"], link.up("rate")),
        paths=(
            PathState(down, link["jitter"], link["loss"], link["line_rate"], *_order(link)),
            PathState(up, link.up("jitter"), link.up("loss"), link["line_rate"], *_order(link)),
        ),
    )


def _order(link: Link) -> tuple[float, float, float, bool]:
    return link["loss_burst"], link["duplicate"], link["reorder"], link["keep_order"]


def base_rtt(state: LinkState) -> Duration:
    """What the path adds to a round trip."""
    return state.paths[0].delay + state.paths[1].delay


def directions(link: Link, state: LinkState) -> tuple[DirectionSpec, DirectionSpec]:
    """What the bottleneck does each way."""
    rtt = base_rtt(state)
    pairs = ((link["queue"], link["shaper"]), (link.up("queue"), link.up("shaper")))
    named = ("queue" in link.given, bool({"queue", "queue_up"} & link.given))
    return tuple(
        DirectionSpec(
            link=link,
            queue=queue if is_named else own_queue(shaper, rate) or queue,
            shaper=shaper,
            rate=rate,
            base_rtt=rtt,
            mtu_bytes=link["mtu"],
            medium=None if medium is None else medium.schedule(way),
        )
        for way, medium, (queue, shaper), rate, is_named in zip(
            ("down", "up"), link.media(), pairs, state.rates, named, strict=True
        )
    )  # type: ignore[return-value]


# ---- set-up ----------------------------------------------------------------------------------------------


def setup_steps(topology: Topology, link: Link, values: Mapping[str, Mapping[str, str]]) -> tuple[Step, ...]:
    """Everything before t = 0, in order."""
    state = initial_state(link)
    made = sysctls.steps(topology, values)
    made += _cables(topology, link["mtu"])
    for node in topology.nodes:
        made += _node(topology, node.name, link)
    if isinstance(link, Home):
        made += home.server_addresses(topology, link)
        made += home.steps(topology, link, base_rtt(state))
    for interface, queue, context in _host_queues(topology, link):
        words = arguments(queue.words(context))
        args = ("qdisc", "add", "dev", interface.name, "root", "handle", "1:", queue.kind(), *words)
        made.append(Step(node=interface.node, tool="tc", args=args))
    for dev, index in _bottlenecks(topology):
        steps = queue_steps(dev, directions(link, state)[index])
        made += [Step(node=topology.bottleneck, tool="tc", args=args) for args in steps]
    for interface, path in _netem_interfaces(topology, link, state):
        if path.changes_nothing():
            continue
        args = ("qdisc", "add", "dev", interface.name, "root", "handle", "1:", *path.words())
        made.append(Step(node=interface.node, tool="tc", args=args))
    return tuple(made)


def _host_queues(topology: Topology, link: Link) -> Iterator[tuple[Interface, Qdisc, QueueContext]]:
    """The interfaces of hosts with a queue that the link gives them; by default they have none."""
    queue = link["host_queue"]
    if queue is not None:
        if queue.queues():
            queue.fail("not on a host: it has no bands", "host_queue=fq()")
        context = QueueContext(rate=None, base_rtt=link["base_rtt"] or Duration(0), mtu_bytes=link["mtu"])
        for node in topology.nodes:
            if node.role in HOST_ROLES:
                yield topology.of(node.name)[0], queue, context


def setup_asked(topology: Topology, link: Link) -> tuple[Asked, ...]:
    """What the kernel is to keep of the qdiscs, classes and filters of the set-up."""
    state = initial_state(link)
    made: list[Asked] = home.asked_of(topology, link, base_rtt(state)) if isinstance(link, Home) else []
    for dev, index in _bottlenecks(topology):
        made += queue_asked(topology.bottleneck, dev, directions(link, state)[index])
    for each, queue, context in _host_queues(topology, link):
        made.append(asked_qdisc(each.node, each.name, "1:", queue.kind(), queue.asked(context, None)))
    netem = _netem_interfaces(topology, link, state)
    return (*made, *(path.asked(each) for each, path in netem if not path.changes_nothing()))


def offloads(link: Link) -> dict[str, bool]:
    """What every interface is told, by ethtool's names."""
    return {**OFFLOADS_OFF, **link["offloads"]}


def _cables(topology: Topology, mtu: int) -> list[Step]:
    cables = []
    for position, cable in enumerate(topology.cables):
        a, b = topology.at(cable.a, position), topology.at(cable.b, position)
        args = (
            *("link", "add", a.name, "address", a.mac, "mtu", str(mtu), "type", "veth"),
            *("peer", "name", b.name, "address", b.mac, "mtu", str(mtu), "netns", b.node),
        )
        cables.append(Step(node=a.node, tool="ip", args=args))
    return cables


@dataclass(frozen=True)
class CableEnd:
    """One end of a cable, as its step makes it."""

    node: str
    name: str
    mac: str


@dataclass(frozen=True)
class CableEnds:
    """A cable, as its step makes it."""

    a: CableEnd
    b: CableEnd
    mtu_bytes: int

    def turned(self) -> "CableEnds":
        """The same from its other end."""
        return replace(self, a=self.b, b=self.a)


def cable_of(step: Step) -> CableEnds | None:
    """The cable that a step of `_cables` makes; None of any other step. For who has real cables instead."""
    match (step.tool, *step.args):
        case ("ip", "link", "add", name, "address", mac, "mtu", mtu, "type", "veth", "peer", *rest):
            _, other, _, other_mac, _, _, _, other_node = rest
            return CableEnds(CableEnd(step.node, name, mac), CableEnd(other_node, other, other_mac), int(mtu))
    return None


def _node(topology: Topology, node: str, link: Link) -> list[Step]:
    """One node's offloads, addresses, neighbours and routes, so that one `ip -batch` does them."""
    switches = tuple(part for name, on in offloads(link).items() for part in (name, "on" if on else "off"))
    made = [Step(node=node, tool="ethtool", args=("-K", i.name, *switches)) for i in topology.of(node)]
    commands: list[tuple[str, ...]] = []
    for i in topology.of(node):
        commands.append(("addr", "add", f"{i.address}/24", "dev", i.name))
        commands.append(("link", "set", i.name, "up"))
    for i in topology.of(node):
        peer = topology.peer(i)
        lladdr = ("lladdr", peer.mac, "dev", i.name, "nud", "permanent")
        commands.append(("neigh", "add", peer.address, *lladdr))
    for route in topology.routes:
        if route.node == node:
            commands.append(("route", "add", route.subnet, "via", route.via, "dev", route.dev))
    return made + [Step(node=node, tool="ip", args=args) for args in commands]


def _bottlenecks(topology: Topology) -> list[tuple[str, int]]:
    """The bottleneck's interfaces, each with the place of its direction in a pair (down, up)."""
    return [
        (topology.at(topology.bottleneck, cable).name, index)
        for index, cable in enumerate((topology.bottleneck_down_cable, topology.bottleneck_up_cable))
        if cable is not None
    ]


def _netem_interfaces(topology: Topology, link: Link, state: LinkState) -> list[tuple[Interface, PathState]]:
    down, up = state.paths
    path = topology.path
    if isinstance(link, Dumbbell):
        delays = [each.rtt() for each in link.members() for _ in range(each["senders"])]
        return [
            (topology.at(path, cable), replace(up, delay=delay))
            for cable, delay in zip(topology.path_up_cables, delays, strict=True)
        ]
    netem_interfaces = []
    if topology.path_down_cable is not None:
        netem_interfaces.append((topology.at(path, topology.path_down_cable), down))
    return netem_interfaces + [(topology.at(path, cable), up) for cable in topology.path_up_cables]


# ---- changes ---------------------------------------------------------------------------------------------


def changes(topology: Topology, link: Link) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The commands of `link.at(…)`, and the same in words."""
    initial = {i.name: p for i, p in _netem_interfaces(topology, link, initial_state(link))}
    first = directions(link, initial_state(link))
    commands: list[Change] = []
    summaries = []
    for change, before, state in _states(link):
        at_ns = change["time"].ns
        router = topology.bottleneck
        for dev, index in _bottlenecks(topology):
            if state.rates[index] != before.rates[index]:
                police = str(1 + sum(each.shaper_kind() == "policer" for each in first[:index]))
                args = rate_change(dev, directions(link, state)[index], change, first[index], police)
                commands.append(Change(at_ns=at_ns, node=router, tool="tc", args=args))
        old = {i.name: p for i, p in _netem_interfaces(topology, link, before)}
        for i, path in _netem_interfaces(topology, link, state):
            if path.jitter > path.delay:
                change.fail(
                    f"from {change['time']} on, jitter ({path.jitter}) is more than the delay ({path.delay})"
                )
            if path != old[i.name]:
                if initial[i.name].changes_nothing():
                    change.fail("this path has no netem to change", "give the link a base_rtt")
                args = ("qdisc", "change", "dev", i.name, "root", "handle", "1:", *path.words())
                commands.append(Change(at_ns=at_ns, node=i.node, tool="tc", args=args))
        parts = [
            f"{name} {value:g} %" if isinstance(value, float) else f"{name} {value}"
            for name, value in change.values.items()
            if name != "time" and value is not None
        ]
        summaries.append(f"at {change['time']}: {', '.join(parts)}")
    return tuple(commands), tuple(summaries)


def _states(link: Link) -> Iterator[tuple[SpecObject, LinkState, LinkState]]:
    """Every change, with the link before and after it."""
    state = initial_state(link)
    for change in link.changes:
        before, state = state, _changed(link, state, change.values)
        yield change, before, state


def qdiscs(topology: Topology, link: Link) -> tuple[tuple[str, ...], ...]:
    """Every qdisc that is ever set up, kind and options, each once."""
    found: list[tuple[str, ...]] = []
    initial = initial_state(link)
    netem = [i.name for i, path in _netem_interfaces(topology, link, initial) if not path.changes_nothing()]
    for state in (initial, *(after for _, _, after in _states(link))):
        for _, index in _bottlenecks(topology):
            shapers_and_queue = directions(link, state)[index].qdiscs()
            # A change leaves the queue as it is.
            found += shapers_and_queue if state is initial else shapers_and_queue[:-1]
        found += [p.words() for i, p in _netem_interfaces(topology, link, state) if i.name in netem]
    found += [(queue.kind(), *arguments(queue.words(at))) for _, queue, at in _host_queues(topology, link)]
    if isinstance(link, Home):
        found += home.qdiscs(link, base_rtt(initial))
    return tuple(dict.fromkeys(found))


def rate_changes(link: Link) -> list[tuple[int, tuple[Rate, Rate]]]:
    """When `link.at(…)` changes the link, and its rates from then on; pairs are (down, up)."""
    state = initial_state(link)
    made = []
    for change in link.changes:
        state = _changed(link, state, change.values)
        made.append((change["time"].ns, state.rates))
    return made


def _changed(link: Link, state: LinkState, new: Mapping[str, object]) -> LinkState:
    """A value without suffix goes for both ways, unless the link was given one of its own upstream."""

    def pair(name: str, old: tuple[object, object]) -> tuple[object, object]:
        down = old[0] if new[name] is None else new[name]
        follows = f"{name}_up" not in link.given
        up = down if follows and new[name] is not None else old[1]
        own_up = new[f"{name}_up"]
        return down, up if own_up is None else own_up

    rates = pair("rate", state.rates)
    jitter = pair("jitter", (state.paths[0].jitter, state.paths[1].jitter))
    loss = pair("loss", (state.paths[0].loss_percent, state.paths[1].loss_percent))
    delays: tuple[object, object] = (state.paths[0].delay, state.paths[1].delay)
    base = new["base_rtt"]
    if isinstance(base, Duration):
        delays = split_delay(base, None, None)
    delays = tuple(
        old if own is None else own
        for old, own in zip(delays, (new["delay_down"], new["delay_up"]), strict=True)
    )  # type: ignore[assignment]
    paths = tuple(
        PathState(delays[i], jitter[i], loss[i], link["line_rate"], *_order(link))  # type: ignore[arg-type]
        for i in (0, 1)
    )
    return LinkState(rates=rates, paths=paths)  # type: ignore[arg-type]


# ---- summary ---------------------------------------------------------------------------------------------


def summary(topology: Topology, link: Link, changes_in_words: tuple[str, ...]) -> LinkSummary:
    """What the later parts need to know of the link."""
    state = initial_state(link)
    made = []
    for index, direction in enumerate(directions(link, state)):
        varying = _varying(direction, state.paths[index])
        made.append(summarised(direction, varying, _direction_changes(link, index)))
    down, up = made
    pairs: tuple[Pair, ...] = ()
    if isinstance(link, Dumbbell):
        pairs = _pairs(link)
        changes = tuple(each.model_copy(update=_UNLIMITED) for each in up.changes)
        up = up.model_copy(update={**_NO_BOTTLENECK, "changes": changes})
    return LinkSummary(
        rate_down_bps=down.rate_bps,
        rate_up_bps=up.rate_bps,
        base_rtt_ns=down.delay_ns + up.delay_ns,
        mtu_bytes=link["mtu"],
        line_rate_bps=link["line_rate"].bps if link["line_rate"] else None,
        queue=down.queue,
        queue_up=up.queue,
        shaper=down.shaper,
        shaper_up=up.shaper,
        down=down,
        up=up,
        changes=changes_in_words,
        offloads=offloads(link),
        pairs=pairs,
        home=home.summary(topology, link, base_rtt(state)) if isinstance(link, Home) else None,
    )


def _varying(direction: DirectionSpec, path: PathState) -> dict[str, Any]:
    """What a change can change."""
    return {
        **buckets(direction),
        "delay_ns": path.delay.ns,
        "jitter_ns": path.jitter.ns,
        "loss_percent": path.loss_percent,
    }


def _direction_changes(link: Link, index: int) -> tuple[DirectionChange, ...]:
    """The changes that are any for this direction."""
    direction_changes = []
    for change, before, after in _states(link):
        old, new = (_varying(directions(link, s)[index], s.paths[index]) for s in (before, after))
        if new != old:
            direction_changes.append(DirectionChange(at_ns=change["time"].ns, **new))
    return tuple(direction_changes)


_UNLIMITED = dict.fromkeys(("rate_bps", "ceil_bps", "burst_bytes", "cburst_bytes"))
_NO_BOTTLENECK: dict[str, Any] = {
    **_UNLIMITED,
    **dict.fromkeys(("shaper", "peak_rate_bps", "counted")),
    **dict.fromkeys(("limit_packets", "limit_bytes", "memory_limit_bytes")),
    "queue": "netem",
    "queue_options": {},
    "shaper_options": {},
    "sets_own_rate": False,
    "splits_super_packets": False,
}
"""The way back of a Dumbbell: delay, and nothing that could hold or drop an acknowledgement."""


def _pairs(link: Dumbbell) -> tuple[Pair, ...]:
    pairs, first = [], 1
    for each in link.members():
        nodes = tuple(f"sender{n}" for n in range(first, first + each["senders"]))
        pairs.append(Pair(name=each.called(), senders=nodes, base_rtt_ns=each.rtt().ns))
        first += each["senders"]
    return tuple(pairs)
