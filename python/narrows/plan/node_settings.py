"""Settings that items ask of single nodes: their congestion control, and ECN, which Linux has per host."""

from collections.abc import Sequence

from narrows.plan import capacity, sysctls
from narrows.plan.expand import ResolvedRun
from narrows.plan.items import Command, TcpBulk, TrafficItem
from narrows.plan.lowering import NodeSysctl
from narrows.plan.model import LinkSummary
from narrows.plan.topology import Topology


def node_settings(
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
