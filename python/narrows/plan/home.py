"""Lowers the home router of a Home: its queues each way, the IFB, and the hosts' own ways.

Egress is on the WAN interface. What arrives there is redirected to an IFB, whose root qdisc is the ingress
queue; behind it packets are received as if nothing had been. A host's delay, jitter and loss are netem on the
home router's interface towards it, never on the host. No command is run here.
"""

from narrows.plan.bottleneck import DirectionSpec, asked_qdisc, buckets, queue_asked, queue_steps, summarised
from narrows.plan.model import Asked, HomeHost, HomeSummary, LinkDirection, Step
from narrows.plan.topology import Topology
from narrows.spec.home import Home
from narrows.tc.options import number
from narrows.units import Duration


def ifb(topology: Topology, link: Home) -> str | None:
    """The name of the IFB; None where there is no ingress queue."""
    router = link["router"]
    if router["ingress"] is None:
        return None
    name: str = router["ifb"] or f"ifb4{topology.wan.name}"
    taken = [i.name for i in topology.of(topology.wan.node)]
    if name in (*taken, "lo"):
        router.fail(
            f"ifb: {name} is already an interface of the home router ({', '.join(taken)}, lo)",
            'leave ifb out, or another name: "ifb4wan"',
        )
    return name


def direction(link: Home, way: str, base_rtt: Duration) -> DirectionSpec | None:
    """The queue of a way ("down", "up") at home, None where there is none."""
    router = link["router"]
    side = "ingress" if way == "down" else "egress"
    if router[side] is None:
        return None
    isp = link["rate"] if way == "down" else link.up("rate")
    return DirectionSpec(
        link=link,
        queue=router[side],
        shaper=router[f"{side}_shaper"],
        rate=router.rate(side, isp),
        base_rtt=base_rtt,
        mtu_bytes=link["mtu"],
    )


def steps(topology: Topology, link: Home, base_rtt: Duration) -> list[Step]:
    """What the home router is set up with beyond addresses and routes."""
    node, wan = topology.wan.node, topology.wan.name
    made: list[Step] = []
    name = ifb(topology, link)
    if name is not None:
        made += [
            Step(node=node, tool="ip", args=("link", "add", name, "type", "ifb")),
            Step(node=node, tool="ip", args=("link", "set", name, "up")),
        ]
    commands: list[tuple[str, ...]] = []
    egress, ingress = direction(link, "up", base_rtt), direction(link, "down", base_rtt)
    if egress is not None:
        commands += queue_steps(wan, egress)
    if ingress is not None and name is not None:
        commands += queue_steps(name, ingress)
        commands.append(("qdisc", "add", "dev", wan, "handle", "ffff:", "ingress"))
        redirect = ("matchall", "action", "mirred", "egress", "redirect", "dev", name)
        commands.append(("filter", "add", "dev", wan, "parent", "ffff:", "protocol", "all", *redirect))
    for each, interface in zip(link.members(), topology.of(node), strict=False):
        if not (each["delay"] or each["loss"]):
            continue
        words = ["netem", "limit", "1000000", "delay", each["delay"].tc()]
        if each["jitter"]:
            words.append(each["jitter"].tc())
        if each["loss"]:
            words += ["loss", "random", f"{each['loss']:g}%"]
        commands.append(("qdisc", "add", "dev", interface.name, "root", "handle", "1:", *words))
    made += [Step(node=node, tool="tc", args=args) for args in commands]
    if link["router"]["nat"]:
        made += [Step(node=node, tool="nft", args=args) for args in masquerade(wan)]
    return made


def asked_of(topology: Topology, link: Home, base_rtt: Duration) -> list[Asked]:
    """What the kernel is to keep of the same."""
    node, wan, name = topology.wan.node, topology.wan.name, ifb(topology, link)
    egress, ingress = direction(link, "up", base_rtt), direction(link, "down", base_rtt)
    made = queue_asked(node, wan, egress) if egress is not None else []
    if ingress is not None and name is not None:
        made += queue_asked(node, name, ingress)
        made.append(Asked(node=node, iface=wan, what="filter", at="ffff:", kind="matchall", options={}))
    for each, interface in zip(link.members(), topology.of(node), strict=False):
        if each["delay"] or each["loss"]:
            own = {name: number(each[name]) for name in ("delay", "jitter", "loss")}
            made.append(asked_qdisc(node, interface.name, "1:", "netem", own))
    return made


def masquerade(wan: str) -> list[tuple[str, ...]]:
    """What makes all hosts one address to the ISP, as most home routers do; the words of nft(8)."""
    chain = ("{", "type", "nat", "hook", "postrouting", "priority", "100", ";", "}")
    return [
        ("add", "table", "ip", "nat"),
        ("add", "chain", "ip", "nat", "postrouting", *chain),
        ("add", "rule", "ip", "nat", "postrouting", "oifname", wan, "masquerade"),
    ]


def server_addresses(topology: Topology, link: Home) -> list[Step]:
    """The server's other addresses, and that its neighbour knows them."""
    own = topology.of("server")[0]
    peer = topology.peer(own)
    network = own.address.rpartition(".")[0]
    made = []
    for n in range(11, 10 + link["server_addresses"]):
        made.append(
            Step(node="server", tool="ip", args=("addr", "add", f"{network}.{n}/24", "dev", own.name))
        )
    for n in range(11, 10 + link["server_addresses"]):
        lladdr = ("lladdr", own.mac, "dev", peer.name, "nud", "permanent")
        made.append(Step(node=peer.node, tool="ip", args=("neigh", "add", f"{network}.{n}", *lladdr)))
    return made


def summary(topology: Topology, link: Home, base_rtt: Duration) -> HomeSummary:
    """What the later parts need to know of it."""
    return HomeSummary(
        down=_direction(direction(link, "down", base_rtt)),
        up=_direction(direction(link, "up", base_rtt)),
        ifb=ifb(topology, link),
        hosts=tuple(
            HomeHost(
                node=name, delay_ns=each["delay"].ns, jitter_ns=each["jitter"].ns, loss_percent=each["loss"]
            )
            for name, each in zip(topology.named("client"), link.members(), strict=True)
        ),
    )


def qdiscs(link: Home, base_rtt: Duration) -> list[tuple[str, ...]]:
    """The qdiscs of the home router, kind and options."""
    found: list[tuple[str, ...]] = []
    for way in ("up", "down"):
        spec = direction(link, way, base_rtt)
        found += [] if spec is None else spec.qdiscs()
    if any(each["delay"] or each["loss"] for each in link.members()):
        found.append(("netem",))
    return found


def _direction(spec: DirectionSpec | None) -> LinkDirection | None:
    if spec is None:
        return None
    return summarised(spec, {**buckets(spec), "delay_ns": 0, "jitter_ns": 0, "loss_percent": 0.0})
