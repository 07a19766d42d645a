"""Makes the plans of an experiment file: loads it, expands its axes, lowers each run. Later parts call this.

The same file gives the same plans on every machine and from every directory. The module is long because a
plan is put together in one place, part by part in the order of its fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from narrows.errors import SpecError, did_you_mean
from narrows.plan import capacity, l4s, linux, moving, never, super_packets, sysctls, uplink, wire
from narrows.plan.expand import ResolvedRun, expand
from narrows.plan.lowering import CCA, NodeSysctl
from narrows.plan.model import (
    BOTTLENECK_HOP,
    HOME_HOP,
    ISP_HOP,
    Calibration,
    CalibrationPath,
    Capture,
    Command,
    Direction,
    FlowTap,
    FlowWatch,
    FlowWindow,
    HomeHost,
    Hop,
    LinkDirection,
    LinkSampler,
    LinkSummary,
    Machine,
    Needs,
    Node,
    Plan,
    QdiscSampler,
    Sampler,
    TcpBulk,
    TcpInfoSampler,
    TimerLatency,
    TrafficItem,
)
from narrows.plan.modules import modules
from narrows.plan.qdiscs import ETHERNET_HEADER_BYTES
from narrows.plan.settling import until_settled
from narrows.plan.timing import Timetable
from narrows.plan.topology import HOST_ROLES, Topology, dumbbell, home, many_senders
from narrows.plan.traffic import lower
from narrows.spec.dumbbell import Dumbbell
from narrows.spec.home import Home
from narrows.spec.load import Experiment, load
from narrows.units import NS_PER_S

WALL_CLOCK_NS = 1_767_225_600 * NS_PER_S
"""2026-01-01 00:00:00 UTC: every guest boots then, so that no output depends on the day."""

EPOCH_NS = 3 * NS_PER_S
EPOCH_RTTS = 50
"""The epoch comes later on long paths: calibration exchanges many packets one by one."""

MEMORY_BYTES = 512 * capacity.MIB
"""The memory of a machine that is not given another; many flows, long paths and deep queues may need more."""

OTHER_PATH_NS, OTHER_PATH_RTTS = NS_PER_S, 10
"""What calibration takes for each further sender of a Dumbbell: twenty echoes and their patience."""

CALIBRATION_NS, CALIBRATION_PACKETS = 2_430_000_000, 100
"""The usual time before the epoch has room for so many full packets each way, in a queue that stands or else
paced."""
SLOW_SLACK = 1.25
"""What else a slow calibration takes: the queue of the train before, the first packet's way."""
SHALLOW_S = 0.55
LOST_ECHOES_NS = 2 * NS_PER_S
SECOND_TRAIN_NS = NS_PER_S

LIMIT_SLACK_NS = 30 * NS_PER_S

RTT_TOLERANCE_NS = 200_000
NATIVE_RTT_TOLERANCE_NS = 1_000_000
"""The tolerance of a path to which nothing is added: what a real host's stack and scheduler may take."""
RTT_TOLERANCE = 0.02
RATE_TOLERANCE = 0.02
TAP_INTERVAL_NS = 10_000_000
CALIBRATION_PACKET_BYTES = 200
"""Upper bound of what the RTT probe's packets take on the wire, for their serialisation time."""


@dataclasses.dataclass(frozen=True)
class Plans:
    """An experiment and all its runs."""

    experiment: Experiment
    plans: tuple[Plan, ...]
    expected_end_ns: tuple[int, ...]
    """When each run will have ended, as far as can be known."""

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """The labels of every axis of the key, `seed` included, in order."""
        return {name: tuple(dict.fromkeys(p.key[name] for p in self.plans)) for name in self.plans[0].key}


def plan_file(path: Path | str) -> Plans:
    """All plans of an experiment file. Everything wrong with it is raised here, before anything starts."""
    return plan_experiment(load(path))


def plan_experiment(experiment: Experiment) -> Plans:
    """All plans of a loaded experiment."""
    made: list[Plan] = []
    ends: list[int] = []
    choices = topology = None
    for run in expand(experiment):
        if topology is None or run.choices is not choices:
            choices, topology = run.choices, _topology(run)
            plan, end_ns = _plan(experiment, run, topology)
        else:
            plan, end_ns = _another_repetition(made[-1], run, topology)
        made.append(plan)
        ends.append(end_ns)
    return Plans(experiment, tuple(made), tuple(ends))


def _topology(run: ResolvedRun) -> Topology:
    if isinstance(run.link, Dumbbell):
        return many_senders(run.link.senders(), run.link["receivers"])
    if isinstance(run.link, Home):
        return home(len(run.link.members()))
    return dumbbell(run.link["services"], run.link["services"])


def _another_repetition(plan: Plan, run: ResolvedRun, topology: Topology) -> tuple[Plan, int]:
    """The plan of a run that differs from this one in its seed alone: only random starts depend on it here.

    Planning takes a millisecond, most of it for the set-up, and an experiment may have ten thousand runs.
    """
    times = Timetable(run)
    traffic, learnt = lower(run, topology, times)
    changes: dict[str, object] = {
        "key": run.key,
        "seed": run.seed,
        "limit_ns": _limit_ns(times),
        "until_settled": until_settled(run, times, traffic),
        "traffic": traffic,
        "composites": tuple(learnt.composites),
        "contents": tuple(learnt.contents.values()),
    }
    return plan.model_copy(update=changes), times.expected_end_ns()


def _plan(experiment: Experiment, run: ResolvedRun, topology: Topology) -> tuple[Plan, int]:
    times = Timetable(run)
    traffic, learnt = lower(run, topology, times)
    l4s_ports = tuple(sorted(learnt.l4s_ports))
    never.check(run, times, traffic)
    changes, told = linux.changes(topology, run.link)
    summary = linux.summary(topology, run.link, moving.told(run.link) + told)
    values, usual = _sysctls(run, topology, traffic, learnt.sysctls, summary)
    hops = _hops(run, topology, summary)
    samplers = _samplers(run, topology, hops)
    captures = _captures(run, topology)
    _check_ids(run, traffic, samplers, captures)
    latency = run.machine["timer_latency"]
    rtt_ns = summary.base_rtt_ns
    plan = Plan(
        experiment=experiment.name,
        question=experiment.question,
        key=run.key,
        seed=run.seed,
        wall_clock_ns=WALL_CLOCK_NS,
        epoch_monotonic_ns=EPOCH_NS
        + _up_to_seconds(EPOCH_RTTS * rtt_ns)
        + _up_to_seconds(sum(OTHER_PATH_NS + OTHER_PATH_RTTS * rtt for rtt in _other_rtts_ns(summary)))
        + _up_to_seconds(_emptying_ns(summary))
        + _up_to_seconds(_slow_ns(summary))
        + _two_trains_ns(summary),
        limit_ns=_limit_ns(times),
        machine=Machine(
            memory_bytes=_memory_bytes(run, summary, traffic, topology),
            timer_latency=None
            if latency is None
            else TimerLatency(min_ns=latency[0].ns, max_ns=latency[1].ns),
            modules=modules(run.machine),
        ),
        nodes=tuple(Node(name=n.name, role=n.role) for n in topology.nodes),
        link=summary,
        sysctls=sysctls.otherwise(values, usual),
        needs=Needs(
            qdiscs=linux.qdiscs(topology, run.link) + l4s.qdiscs(l4s_ports),
            default_ccas=tuple(sorted({own[CCA] for own in values.values() if CCA in own})),
        ),
        setup=(
            *linux.setup_steps(topology, run.link, values),
            *l4s.steps(topology, l4s_ports),
            *(uplink.steps(topology, run.link) if learnt.needs_uplink else ()),
        ),
        changes=changes,
        moving=moving.moving_rates(topology, run.link, times.latest_end_ns()),
        hops=hops,
        flow_tap=_flow_tap(run, traffic),
        until_settled=until_settled(run, times, traffic),
        calibration=_calibration(run, topology, summary),
        traffic=traffic,
        composites=tuple(learnt.composites),
        samplers=samplers,
        captures=captures,
        contents=tuple(learnt.contents.values()),
        uplink=uplink.uplink(topology) if learnt.needs_uplink else None,
    )
    capacity.check(plan, run.link.where)
    super_packets.check(plan, run.link.where)
    return plan, times.expected_end_ns()


def _limit_ns(times: Timetable) -> int:
    latest_ns = times.latest_end_ns()
    return latest_ns + latest_ns // 2 + LIMIT_SLACK_NS


def _emptying_ns(link: LinkSummary) -> int:
    """How long calibration needs to see a deep bucket empty and fill again, both ways, behind the line.

    A line of the rate or less never empties it. Behind an unlimited line the train does, at some three times
    the rate; the usual time has room for a bucket of `SHALLOW_S`.
    """
    span = 0.0
    for direction in (link.down, link.up):
        line, rate, burst = link.line_rate_bps, direction.rate_bps, direction.burst_bytes
        if rate is None or burst is None:
            continue
        if line is None:
            span = max(span, 1.5 * (burst * 8 / rate - SHALLOW_S))
        elif line > rate:
            span = max(span, burst * 8 / (line - rate) + burst * 8 / rate)
    # each way has half of the time, and half as much again to be sure
    return int(3 * span * NS_PER_S)


def _slow_ns(link: LinkSummary) -> int:
    """What calibration may need beyond the usual: packets that take long, and echoes that are lost."""
    bits = CALIBRATION_PACKETS * (link.mtu_bytes + ETHERNET_HEADER_BYTES) * 8
    packets_ns = sum(
        bits * NS_PER_S // direction.rate_bps for direction in (link.down, link.up) if direction.rate_bps
    )
    lossy = link.down.loss_percent or link.up.loss_percent
    return max(0, int(SLOW_SLACK * packets_ns) + (LOST_ECHOES_NS if lossy else 0) - CALIBRATION_NS)


def _two_trains_ns(link: LinkSummary) -> int:
    """Where a train through one shaper may not tell the rate of two in a row, or a policer holds no queue, a
    second one is sent."""
    again = link.home is not None or "policer" in (link.shaper, link.shaper_up)
    return SECOND_TRAIN_NS if again else 0


def _memory_bytes(
    run: ResolvedRun, link: LinkSummary, traffic: tuple[TrafficItem, ...], topology: Topology
) -> int:
    given = run.machine["memory"]
    if given is not None:
        return int(given.bytes)
    packets = capacity.memory_needed(link, traffic, len(topology.nodes))
    return max(MEMORY_BYTES, packets, capacity.programs_need(traffic))


def _other_rtts_ns(link: LinkSummary) -> list[int]:
    return [pair.base_rtt_ns for pair in link.pairs for _ in pair.senders][1:]


def _up_to_seconds(span_ns: int) -> int:
    """Whole seconds, rounded down below one second: short paths keep the usual epoch."""
    return 0 if span_ns < NS_PER_S else -(-span_ns // NS_PER_S) * NS_PER_S


def _sysctls(
    run: ResolvedRun,
    topology: Topology,
    traffic: tuple[TrafficItem, ...],
    wanted: Sequence[NodeSysctl],
    link: LinkSummary,
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """The settings of every node, and those that it would have if nothing were asked for.

    Linux has no ECN per socket, so flows that ask for it set it at their sender.
    """
    asked = run.link["sysctls"]
    for role in asked:
        if role != "all" and not topology.named(role):
            here = ", ".join(sorted({node.role for node in topology.nodes}))
            run.link.fail(f"sysctls: no node here has the role {role!r}", f"here are {here}, and all")
    buffer_bytes = capacity.tcp_buffer_bytes(link) if link.pairs else None
    values = sysctls.settings(topology, asked, buffer_bytes)
    usual = sysctls.settings(topology, {}, buffer_bytes)
    for program in traffic:
        item = run.items[program.item]
        # Our own sender names its CCA before it connects, which asks for ECN; other tools do so afterwards.
        if isinstance(program, Command) and not program.background and item.values.get("l4s"):
            caller, name = program.node, "net.ipv4.tcp_ecn"
            given = any(name in asked.get(role, {}) for role in ("all", topology.role(caller)))
            sysctls.set_on_hosts(values, caller, name, "1", asked=given, where=item.where)
    set_for: dict[tuple[str, str], NodeSysctl] = {}
    for each in wanted:
        item, other = run.items[each.item], set_for.setdefault((each.node, each.name), each)
        if other.value != each.value:
            item.fail(
                f"{each.item} needs {each.name}={each.value} at the {each.node}, {other.item} {other.value}",
                "give each service nodes of its own: Link(services=2), and host=2 of one of them",
            )
        given = any(each.name in asked.get(role, {}) for role in ("all", topology.role(each.node)))
        sysctls.set_on_hosts(values, each.node, each.name, each.value, asked=given, where=item.where)
    flows = [item for item in traffic if isinstance(item, TcpBulk)]
    for sender in sorted({flow.sender for flow in flows}):
        own = [flow for flow in flows if flow.sender == sender]
        with_ecn = [flow for flow in own if flow.ecn]
        without = [flow for flow in own if not flow.ecn]
        if not with_ecn:
            continue
        item = run.items[with_ecn[0].item]
        if without:
            item.fail(
                f"{with_ecn[0].id} asks for ECN, {without[0].id} does not, and both send from the {sender}",
                "Linux switches ECN per host: give all flows of a direction the same ecn=",
            )
        name = "net.ipv4.tcp_ecn"
        given = any(name in asked.get(role, {}) for role in ("all", topology.role(sender)))
        sysctls.set_on_hosts(values, sender, name, "1", asked=given, where=item.where)
    return values, usual


def _flow_tap(run: ResolvedRun, traffic: tuple[TrafficItem, ...]) -> FlowTap | None:
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


def _hops(run: ResolvedRun, topology: Topology, link: LinkSummary) -> tuple[Hop, ...]:
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


def _calibration(run: ResolvedRun, topology: Topology, link: LinkSummary) -> Calibration:
    """What the idle rig must show. A qdisc counts the Ethernet header, the IP layer does not."""
    client, server = topology.named("client")[0], topology.named("server")[0]
    timers = run.machine["timer_latency"]
    timer_ns = timers[1].ns if timers else 0
    jitter_ns = link.down.jitter_ns + link.up.jitter_ns
    serialisation_ns = 0
    ip_rates: list[int | None] = []
    at_home: tuple[LinkDirection | None, ...] = (None, None)
    host: HomeHost | None = None
    if link.home is not None:
        at_home, host = (link.home.down, link.home.up), link.home.hosts[0]
        jitter_ns += host.jitter_ns
    for direction, before in zip((link.down, link.up), at_home, strict=True):
        shapers = [
            (link.line_rate_bps, wire.FRAME),
            *(
                (each.rate_bps, each.counted or wire.FRAME)
                for each in (direction, before)
                if each is not None
            ),
        ]
        rates = [rate for rate, _ in shapers if rate is not None]
        at_ip_layer = [
            rate * link.mtu_bytes // wire.counted_bytes(counted, link.mtu_bytes)
            for rate, counted in shapers
            if rate is not None
        ]
        ip_rates.append(min(at_ip_layer, default=None))
        serialisation_ns += sum(CALIBRATION_PACKET_BYTES * 8 * NS_PER_S // rate for rate in rates)
    # Each direction passes two timers: the shaper's and netem's.
    least_ns = RTT_TOLERANCE_NS if link.base_rtt_ns else NATIVE_RTT_TOLERANCE_NS
    tolerance_ns = max(least_ns, int(RTT_TOLERANCE * link.base_rtt_ns))
    lossy = bool(link.down.loss_percent or link.up.loss_percent or (host and host.loss_percent))
    rtts = [(node, pair.base_rtt_ns) for pair in link.pairs for node in pair.senders]
    return Calibration(
        client=client,
        server=server,
        server_address=topology.address(server),
        client_address=topology.address(client),
        rtt_ns=rtts[0][1] if rtts else link.base_rtt_ns + (host.delay_ns if host else 0),
        rtt_tolerance_ns=tolerance_ns + serialisation_ns + jitter_ns + 4 * timer_ns,
        rate_down_bps=ip_rates[0],
        rate_up_bps=ip_rates[1],
        rate_tolerance=RATE_TOLERANCE,
        # Late timers, loss and jitter may keep the rig under its rate, and so may a shaper that sets its own.
        rate_is_upper_bound=bool(timer_ns or lossy or jitter_ns or _sets_own_rate(link)),
        others=tuple(
            CalibrationPath(server=node, server_address=topology.address(node), rtt_ns=rtt_ns)
            for node, rtt_ns in rtts[1:]
        ),
    )


def _sets_own_rate(link: LinkSummary) -> bool:
    """Whether a shaper follows what arrives."""
    home = (link.home.down, link.home.up) if link.home is not None else ()
    return any(way.sets_own_rate for way in (link.down, link.up, *home) if way is not None)


def _samplers(run: ResolvedRun, topology: Topology, hops: tuple[Hop, ...]) -> tuple[Sampler, ...]:
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


def _captures(run: ResolvedRun, topology: Topology) -> tuple[Capture, ...]:
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


def _check_ids(
    run: ResolvedRun,
    traffic: tuple[TrafficItem, ...],
    samplers: tuple[Sampler, ...],
    captures: tuple[Capture, ...],
) -> None:
    """Ids name files, so no two parts of a run may share one."""
    seen: dict[str, str] = {}
    parts = [("an item", i.id) for i in traffic] + [("a sampler", s.id) for s in samplers]
    for what, name in [*parts, *(("a capture", c.id) for c in captures)]:
        if name in seen:
            blame = run.items.get(name) or run.captures.get(name)
            raise SpecError(
                f"{name} is the name of {seen[name]} and of {what}",
                where=blame.where if blame is not None else None,
                remedy="rename one of them",
            )
        seen[name] = what
