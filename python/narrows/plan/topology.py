"""Graphs of nodes and links, with their addresses, routes and where the bottleneck sits.

`dumbbell` builds the usual one, `many_senders` that of flows at scale; nothing else assumes a shape. Every
interface has a fixed MAC address and knows its neighbour, so that no run begins with ARP. No commands here:
`narrows.plan.linux` says it to `ip`.
"""

from collections import deque
from dataclasses import dataclass
from functools import cached_property

from narrows.plan.model import Role

HOST_ROLES: tuple[Role, ...] = ("client", "server")
PREFIX_LENGTH = 24


@dataclass(frozen=True)
class TopologyNode:
    """A node: a network namespace."""

    name: str
    role: Role


@dataclass(frozen=True)
class Cable:
    """A link between two nodes. Its position in the topology is its subnet: 10.0.<position>.0/24."""

    a: str
    b: str


@dataclass(frozen=True)
class Interface:
    """One end of a cable."""

    node: str
    name: str
    mac: str
    address: str
    cable: int
    peer_node: str


@dataclass(frozen=True)
class Route:
    """How a node reaches a subnet that is not its own. `subnet` is "default" on hosts."""

    node: str
    subnet: str
    via: str
    dev: str


@dataclass(frozen=True)
class Topology:
    """Nodes, cables, the bottleneck's node and the path's node with the cables on their two sides.

    `…_down_cable` lies on the side of the clients, so packets going down leave through it.
    """

    nodes: tuple[TopologyNode, ...]
    cables: tuple[Cable, ...]
    bottleneck: str
    bottleneck_down_cable: int
    bottleneck_up_cable: int | None
    """None: only the way down is a bottleneck."""
    path: str
    path_down_cable: int | None
    """None: the delay is all on the way up."""
    path_up_cables: tuple[int, ...]
    home: str | None = None
    """The home router of a Home, whose interfaces before the last are those of the hosts."""

    @property
    def wan(self) -> Interface:
        """The home router's interface towards the ISP."""
        assert self.home is not None
        return self.of(self.home)[-1]

    def named(self, role: Role) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes if node.role == role)

    def role(self, name: str) -> Role:
        return next(node.role for node in self.nodes if node.name == name)

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """All interfaces, in the order of the cables; eth0, eth1, … of a node in that order too."""
        used = {node.name: 0 for node in self.nodes}
        made = []
        for position, cable in enumerate(self.cables):
            # The host of a cable is .1; between two routers the first end is.
            first = cable.b if self.role(cable.b) in HOST_ROLES else cable.a
            for node, peer in ((cable.a, cable.b), (cable.b, cable.a)):
                host = 1 if node == first else 2
                made.append(
                    Interface(
                        node=node,
                        name=f"eth{used[node]}",
                        mac=f"02:00:00:{position >> 8:02x}:{position & 255:02x}:{host:02x}",
                        address=f"10.{position >> 8}.{position & 255}.{host}",
                        cable=position,
                        peer_node=peer,
                    )
                )
                used[node] += 1
        return tuple(made)

    def of(self, node: str) -> tuple[Interface, ...]:
        return tuple(i for i in self.interfaces if i.node == node)

    def at(self, node: str, cable: int) -> Interface:
        return next(i for i in self.interfaces if i.node == node and i.cable == cable)

    def peer(self, interface: Interface) -> Interface:
        return self.at(interface.peer_node, interface.cable)

    def address(self, node: str) -> str:
        return self.of(node)[0].address

    def subnet(self, cable: int) -> str:
        return f"10.{cable >> 8}.{cable & 255}.0/{PREFIX_LENGTH}"

    @cached_property
    def routes(self) -> tuple[Route, ...]:
        """Static routes by fewest hops; a node with one interface has a default route only."""
        made = []
        for node in self.nodes:
            own = self.of(node.name)
            if len(own) == 1:
                made.append(Route(node.name, "default", self.peer(own[0]).address, own[0].name))
                continue
            first_hop = self._first_hops(node.name)
            connected = {i.cable for i in own}
            for position, cable in enumerate(self.cables):
                if position in connected:
                    continue
                near = min((n for n in (cable.a, cable.b) if n in first_hop), key=lambda n: first_hop[n][0])
                out = first_hop[near][1]
                made.append(Route(node.name, self.subnet(position), self.peer(out).address, out.name))
        return tuple(made)

    def towards(self, node: str) -> tuple[tuple[str, str, str], ...]:
        """Each other router's first hop to a node: its name, the next one's address, its own interface."""
        made = []
        for each in self.nodes:
            if each.name != node and each.role not in HOST_ROLES:
                out = self._first_hops(each.name)[node][1]
                made.append((each.name, self.peer(out).address, out.name))
        return tuple(made)

    def _first_hops(self, start: str) -> dict[str, tuple[int, Interface]]:
        """Each other node's distance, and the interface of `start` that leads there."""
        first_hops: dict[str, tuple[int, Interface]] = {}
        pending = deque((interface, interface, 1) for interface in self.of(start))
        while pending:
            out, here, distance = pending.popleft()
            node = here.peer_node
            if node == start or node in first_hops:
                continue
            first_hops[node] = (distance, out)
            # Hosts do not forward.
            if self.role(node) not in HOST_ROLES:
                pending.extend((out, onward, distance + 1) for onward in self.of(node))
        return first_hops


def _clients(name: str, count: int) -> tuple[list[TopologyNode], list[Cable], str]:
    """Hosts of the role client, and the router's neighbour towards them: several are joined by an access
    node, so that the bottleneck's downstream queue stays one interface."""
    if count == 1:
        return [TopologyNode(name, "client")], [], name
    names = [f"{name}{n}" for n in range(1, count + 1)]
    nodes = [*(TopologyNode(each, "client") for each in names), TopologyNode("access", "path")]
    return nodes, [Cable(each, "access") for each in names], "access"


def dumbbell(clients: int = 1, servers: int = 1) -> Topology:
    """Clients – router – path – servers."""
    server_names = ["server"] if servers == 1 else [f"server{n}" for n in range(1, servers + 1)]
    nodes, cables, near = _clients("client", clients)
    nodes += [TopologyNode("router", "router"), TopologyNode("path", "path")]
    nodes += [TopologyNode(name, "server") for name in server_names]
    down = len(cables)
    cables += [Cable(near, "router"), Cable("router", "path")]
    cables += [Cable("path", name) for name in server_names]
    return _in_line(nodes, cables, "router", down)


def _in_line(
    nodes: list[TopologyNode], cables: list[Cable], bottleneck: str, down: int, home: str | None = None
) -> Topology:
    """The bottleneck's node, the path behind it, and all servers behind that."""
    return Topology(
        nodes=tuple(nodes),
        cables=tuple(cables),
        bottleneck=bottleneck,
        bottleneck_down_cable=down,
        bottleneck_up_cable=down + 1,
        path="path",
        path_down_cable=down + 1,
        path_up_cables=tuple(range(down + 2, len(cables))),
        home=home,
    )


def many_senders(senders: int, receivers: int = 1) -> Topology:
    """Senders – router – receivers: as few hops as can be, because every hop of a packet costs wall time.

    Senders have the role server and receivers the role client, so data goes "down".
    """
    sender_names = [f"sender{n}" for n in range(1, senders + 1)]
    nodes, cables, near = _clients("receiver", receivers)
    nodes += [TopologyNode("router", "router"), *(TopologyNode(name, "server") for name in sender_names)]
    down = len(cables)
    cables += [Cable(near, "router"), *(Cable("router", name) for name in sender_names)]
    return Topology(
        nodes=tuple(nodes),
        cables=tuple(cables),
        bottleneck="router",
        bottleneck_down_cable=down,
        bottleneck_up_cable=None,
        path="router",
        path_down_cable=None,
        path_up_cables=tuple(range(down + 1, len(cables))),
    )


def home(hosts: int) -> Topology:
    """Hosts – home router – ISP – path – server. The ISP is the bottleneck's node."""
    names = ["client"] if hosts == 1 else [f"client{n}" for n in range(1, hosts + 1)]
    nodes = [TopologyNode(name, "client") for name in names]
    nodes += [TopologyNode("home", "home"), TopologyNode("isp", "router")]
    nodes += [TopologyNode("path", "path"), TopologyNode("server", "server")]
    cables = [Cable(name, "home") for name in names]
    cables += [Cable("home", "isp"), Cable("isp", "path"), Cable("path", "server")]
    return _in_line(nodes, cables, "isp", len(names), "home")
