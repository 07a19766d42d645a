"""What every tool needs to turn an item of traffic into the plan's items: addresses, ports, times, and the
two commands of a client and its server.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from narrows.headers import UDP_IPV4_HEADERS_BYTES
from narrows.plan import contents
from narrows.plan.expand import ResolvedRun
from narrows.plan.items import AtTime, Command, Composite, Content, Endpoint, Ready, Uses
from narrows.plan.timing import Timetable
from narrows.plan.topology import Topology
from narrows.spec.traffic import Traffic
from narrows.tools.recipe import Recipe

QUIC_DATAGRAM_BYTES = 1200
"""The least that a path has to carry (RFC 9000, 14)."""

CCA = "net.ipv4.tcp_congestion_control"
SERVER_START = AtTime(at_ns=0)
"""A background item that is due at 0 is started, and ready, before the epoch."""
USUAL: dict[str, Any] = {
    "env": {}, "stop_signal": "INT", "ok_exits": (0,), "files": (), "memory_bytes": 0,
}  # fmt: skip
"""What commands have that say nothing else."""


@dataclass(frozen=True)
class NodeSysctl:
    """A setting that an item needs at a node."""

    item: str
    node: str
    name: str
    value: str


@dataclass
class Lowering:
    """What lowering an item needs to know, and the ports that are taken."""

    run: ResolvedRun
    topology: Topology
    times: Timetable
    ports: dict[tuple[str, int], str] = field(default_factory=dict)
    composites: list[Composite] = field(default_factory=list)
    """Tools that became several items."""
    l4s_ports: list[int] = field(default_factory=list)
    """Ports of items whose packets are to be ECT(1)."""
    host: int = 1
    """Which of a Home's hosts, or of a Link's services, the item that is being lowered is for."""
    contents: dict[str, Content] = field(default_factory=dict)
    """What services serve, by id."""
    sysctls: list[NodeSysctl] = field(default_factory=list)
    """Settings of single nodes that items ask for."""
    host_qdiscs: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Nodes whose own qdisc an item asks for: which item, and the qdisc."""
    needs_uplink: bool = False
    """Whether an item asks for the Internet."""

    @property
    def client(self) -> str:
        return self.topology.named("client")[self.host - 1]

    @property
    def server(self) -> str:
        servers = self.topology.named("server")
        return servers[self.host - 1] if len(servers) > 1 else servers[0]

    def content(self, about: str, commands: Iterable[tuple[str, ...]], programs: tuple[str, ...]) -> str:
        """Where content made by these commands lies, as a command's words have it: `@content/<id>`."""
        made = contents.of(about, tuple(commands), programs)
        self.contents[made.id] = made
        return f"{contents.PLACE}/{made.id}"

    def built(self, about: str, recipe: Recipe) -> str:
        """Where a program is built, once, from copies of its folder's files."""
        assert recipe.folder is not None
        folder, package = recipe.folder, contents.PACKAGE
        if folder.is_relative_to(package):
            within = folder.relative_to(package)
            names = [f"{contents.IN_PACKAGE}{within / name}" for name in recipe.files]
        else:
            names = [str(folder / name) for name in recipe.files]
        programs = tuple(dict.fromkeys(words[0] for words in recipe.build if "/" not in words[0]))
        return self.content(about, (("cp", *names, "."), *recipe.build), programs)

    def set_cca(self, item_id: str, node: str, cca: str | None) -> None:
        """The CCA of all TCP connections of a node whose programs choose none (None: the usual one)."""
        if cca is not None:
            self.sysctls.append(NodeSysctl(item_id, node, CCA, cca))

    @property
    def server_address(self) -> str:
        return self.topology.address(self.server)

    @property
    def client_address(self) -> str:
        return self.topology.address(self.client)

    def port(
        self,
        item: Traffic,
        item_id: str,
        node: str,
        first: int,
        following: int | None = None,
        *,
        offset: int = 0,
    ) -> int:
        """The item's port on a node: its own (`offset` counts those of a tool of several items), or the first
        free one."""
        own = item.values.get("port")
        port = None if own is None else own + offset
        if port is None:
            port = first
            while (node, port) in self.ports:
                port = following if following is not None and port == first else port + 1
        elif (node, port) in self.ports:
            item.fail(
                f"port {port} is already that of {self.ports[node, port]}", "leave port out, or take another"
            )
        self.ports[node, port] = item_id
        if item.values.get("l4s"):
            self.l4s_ports.append(int(port))
        return int(port)

    def listening(
        self, item: Traffic, item_id: str, first: int, following: int | None = None
    ) -> tuple[int, str]:
        """The item's port on its server, as `port` has it, and address:port."""
        port = self.port(item, item_id, self.server, first, following)
        return port, f"{self.server_address}:{port}"


def receives(address: str, port: int, *protocols: Literal["tcp", "udp"]) -> tuple[Endpoint, ...]:
    """The port where a client's flows are received."""
    return tuple(Endpoint(protocol=protocol, address=address, port=port) for protocol in protocols)


def carries_quic(item: Traffic, state: Lowering) -> None:
    """Refuse a link that carries no datagram of QUIC whole."""
    least, mtu = UDP_IPV4_HEADERS_BYTES + QUIC_DATAGRAM_BYTES, state.run.link["mtu"]
    if mtu < least:
        item.fail(
            f"QUIC sends UDP datagrams of {QUIC_DATAGRAM_BYTES} bytes and more: mtu={mtu} carries none whole",
            f"mtu={least} or more",
        )


def started(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The outside program that an argument list starts; none where it is the agent."""
    return () if argv[0] == "@agent" else argv[:1]


def said(cca: str | None) -> Uses | None:
    """What a program says that it uses; None: nothing."""
    return None if cca is None else Uses(cca=cca)


def background(
    server_id: str,
    item_id: str,
    tool: str,
    node: str,
    argv: tuple[str, ...],
    ready: str | Ready | None,
    *,
    cca: str | None = None,
    **others: Any,
) -> Command:
    """The server of an item, in the background, up before t = 0: when `ready` (as text: where it listens by
    TCP). Its flows are those of the item's client. `cca`: what it says that it uses, which is checked;
    `others`: fields of the command."""
    fields = {
        "id": server_id, "item": item_id, "tool": tool, "node": node, "argv": argv, "background": True,
        "ready": Ready(tcp=ready) if isinstance(ready, str) else ready, "endpoints": (),
        "programs": started(argv), "uses": said(cca), "start": SERVER_START, "stop": None,
    }  # fmt: skip
    return Command(**USUAL | fields | others)


def foreground(
    item: Traffic,
    item_id: str,
    tool: str,
    argv: tuple[str, ...],
    endpoints: tuple[Endpoint, ...],
    state: Lowering,
    *,
    cca: str | None = None,
    **others: Any,
) -> Command:
    """A client, at the times of the item, in the client; `endpoints`: where its flows are received; `cca` and
    `others`: as of `background`."""
    timing = state.times.of(item_id)
    fields = {
        "id": item_id, "item": item_id, "tool": tool, "node": state.client, "argv": argv,
        "background": False, "ready": None, "endpoints": endpoints, "programs": started(argv),
        "uses": said(cca), "start": timing.start, "stop": timing.stop,
    }  # fmt: skip
    return Command(**USUAL | fields | others)


def switches(options: Mapping[str, Any]) -> list[str]:
    """`--name value` of each option."""
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def client_and_server(
    item: Traffic, item_id: str, state: Lowering, at: str, *, server: Iterable[str], client: Iterable[str]
) -> list[Command]:
    """The usual two commands of a tool that is called like its class: a server, up before t = 0 and listening
    at `at` (address:port), and a client at the item's times."""
    tool = type(item).__name__
    host, _, port = at.rpartition(":")
    return [
        background(f"{item_id}-server", item_id, f"{tool}-server", state.server, tuple(server), at),
        foreground(item, item_id, tool, tuple(client), receives(host, int(port), "tcp", "udp"), state),
    ]
