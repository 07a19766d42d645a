"""What each real host does of a plan: its nodes, their set-up, and the interfaces that it lends. Pure.

Nodes become namespaces of a host: clients those of the client, the bottleneck's router that of the
router, servers and the path with its delay those of the server (the delay lies before the server, as
netem on the router would cost the router's processor). A cable between two hosts is a pair of real
interfaces; all others are made as in a guest.
"""

from dataclasses import dataclass
from typing import Any

from narrows.engine.ssh.hosts import Hosts
from narrows.errors import EngineError
from narrows.plan.items import Command, IcmpEcho, TcpBulk, UdpProbe
from narrows.plan.linux import CableEnds, cable_of
from narrows.plan.model import Plan

HOST_OF = {"client": "client", "router": "router", "path": "server", "server": "server"}
"""Which host has the nodes of a role."""
REAL = {("client", "router"): (0, 0), ("router", "server"): (1, 0)}
"""The cables between hosts, and which of each host's interfaces are their ends."""
REMEDY = "use --engine uml or netns, which have any number of nodes"


@dataclass(frozen=True)
class Part:
    """One host's part. `begin`: the first message to its agent."""

    role: str
    nodes: tuple[str, ...]
    begin: dict[str, Any]
    programs: frozenset[str]
    """Outside programs that it needs."""
    kinds: frozenset[str]
    """Kinds of qdiscs."""
    ccas: frozenset[str]


def parts_of(plan: Plan, hosts: Hosts, macs: dict[tuple[str, str], str]) -> tuple[Part, ...]:
    """The parts of a plan, in the order of the hosts. `macs`: (role, interface) → its address, if known.

    Raises EngineError for a plan that three hosts cannot carry.
    """
    roles = {node.name: HOST_OF.get(node.role) for node in plan.nodes}
    if odd := [node.name for node in plan.nodes if HOST_OF.get(node.role) is None]:
        raise EngineError(f"the plan has a {odd[0]}, which three hosts have no place for", remedy=REMEDY)
    refuse(plan)
    made = {step: ends for step in plan.setup if (ends := cable_of(step)) is not None}
    real: dict[tuple[str, str], CableEnds] = {}
    for ends in made.values():
        pair = (str(roles[ends.a.node]), str(roles[ends.b.node]))
        if pair[0] == pair[1]:
            continue
        ends, pair = (ends, pair) if pair in REAL else (ends.turned(), (pair[1], pair[0]))
        if pair not in REAL or pair in real:
            raise EngineError(
                f"there are no interfaces for the plan's cable from {ends.a.node} to {ends.b.node}",
                remedy=REMEDY,
            )
        real[pair] = ends
    missing = [pair for pair in REAL if pair not in real]
    if missing:
        raise EngineError(f"the plan has no cable from {missing[0][0]} to {missing[0][1]}", remedy=REMEDY)
    by_role = {host.role: host for host in hosts.hosts}
    lend: dict[str, list[dict[str, Any]]] = {role: [] for role in by_role}
    actual: dict[str, str] = {}
    for pair, ends in real.items():
        for role, end, which in zip(pair, (ends.a, ends.b), REAL[pair], strict=True):
            interface = by_role[role].interfaces[which]
            lend[role].append(
                {"interface": interface, "node": end.node, "name": end.name, "mtu": ends.mtu_bytes}
            )
            if (role, interface) in macs:
                actual[end.mac] = macs[role, interface]
    crossing = {step for step, ends in made.items() if roles[ends.a.node] != roles[ends.b.node]}
    data = plan.to_dict()
    data["setup"] = [
        {**step.model_dump(mode="json"), "args": [actual.get(word, word) for word in step.args]}
        for step in plan.setup
        if step not in crossing
    ]
    return tuple(_part(plan, data, role, roles, lend[role]) for role in by_role)


def refuse(plan: Plan) -> None:
    """What no engine of several hosts can do."""
    why = None
    if plan.until_settled is not None:
        why = "until_settled looks at all senders at once, which are on several hosts"
    elif plan.machine.timer_latency is not None:
        why = "timer_latency is a knob of the virtual machine; real timers are as they are"
    elif plan.media:
        why = "a medium is a device of narrows' own kernel, and the hosts have none"
    elif plan.machine.modules:
        why = "modules are built for narrows' own kernel; the hosts' kernels would not take them"
    elif plan.contents:
        why = "content that services serve is not copied to hosts"
    elif plan.composites and any(getattr(one, "path", None) for one in plan.composites):
        why = "tools of one's own are not copied to hosts"
    for item in plan.traffic:
        if isinstance(item, Command):
            words = (*item.argv, *item.env.values())
            if item.files or any(at in word for word in words for at in ("@checkout", "@content")):
                why = f"{item.id} needs files of narrows, which are not copied to hosts"
    if why:
        raise EngineError(why, remedy="use --engine uml or netns, or --only to choose other runs")


def _part(
    plan: Plan, data: dict[str, Any], role: str, roles: dict[str, str | None], lend: list[dict[str, Any]]
) -> Part:
    nodes = tuple(name for name, at in roles.items() if at == role)
    own: dict[str, Any] = dict(data)
    for name in ("setup", "changes", "hops", "samplers", "captures"):
        own[name] = [one for one in data[name] if one["node"] in nodes]
    if len(own["hops"]) not in (0, len(data["hops"])):
        raise EngineError("the plan has queues on two hosts, and a tap counts those of one", remedy=REMEDY)
    if data.get("moving"):
        shapers = [one for one in data["moving"]["shapers"] if one["node"] in nodes]
        own["moving"] = {**data["moving"], "shapers": shapers} if shapers else None
    commands_of_tc = [step.args for step in plan.setup if step.node in nodes and step.tool == "tc"]
    commands_of_tc += [step.args for step in plan.changes if step.node in nodes and step.tool == "tc"]
    words = {word for args in commands_of_tc for word in args}
    commands = [item for item in plan.traffic if isinstance(item, Command) and item.node in nodes]
    senders = [item for item in plan.traffic if isinstance(item, TcpBulk) and item.sender in nodes]
    return Part(
        role=role,
        nodes=nodes,
        begin={"plan": own, "nodes": list(nodes), "lend": lend},
        programs=frozenset(
            program for item in commands for program in item.programs if not program.startswith("@")
        ),
        kinds=frozenset(words & {probe[0] for probe in plan.needs.qdiscs}),
        ccas=frozenset(item.cca for item in senders if item.cca),
    )


def owner(plan: Plan, item_id: str) -> str:
    """The node whose host says what became of an item."""
    item = next(one for one in plan.traffic if one.id == item_id)
    match item:
        case TcpBulk():
            return item.sender
        case UdpProbe() | IcmpEcho():
            return item.client
        case Command():
            return item.node
