"""Lowers the traffic of a run to the plan's items: programs with all their arguments, ports, addresses.

A speed test becomes two commands, its server (in the background, up before t = 0) and its client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from narrows.plan.expand import ResolvedRun
from narrows.plan.model import AtTime, Command, IcmpEcho, Ready, TcpBulk, TrafficItem, UdpProbe
from narrows.plan.timing import Timetable
from narrows.plan.topology import Topology
from narrows.spec.traffic import Traffic, bulk, command, icmp_echo, iperf3, ndt7, udp_probe
from narrows.units import NS_PER_S

BULK_PORT, IPERF3_PORT, PROBE_PORT = 5001, 5201, 5301
NDT7_PORT, NDT7_TLS_PORT, NDT7_NEXT_PORT = 80, 443, 8080

SERVER_START = AtTime(at_ns=0)
"""A background item that is due at 0 is started, and ready, before the epoch."""

JS_CLIENT = ("node", "@checkout/tests/interop/ndt7-js/run.mjs")
"""M-Lab's own client from npm, in the checkout of narrows."""


@dataclass
class Lowering:
    """What lowering an item needs to know, and the ports that are taken."""

    run: ResolvedRun
    topology: Topology
    times: Timetable
    ports: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def client(self) -> str:
        return self.topology.named("client")[0]

    @property
    def server(self) -> str:
        return self.topology.named("server")[0]

    @property
    def server_address(self) -> str:
        return self.topology.address(self.server)

    @property
    def client_address(self) -> str:
        return self.topology.address(self.client)

    def port(self, item: Traffic, item_id: str, node: str, first: int, following: int | None = None) -> int:
        """The item's port on a node: its own, or the first free one."""
        port = item["port"]
        if port is None:
            port = first
            while (node, port) in self.ports:
                port = following if following is not None and port == first else port + 1
        elif (node, port) in self.ports:
            item.fail(
                f"port {port} is already that of {self.ports[node, port]}", "leave port out, or take another"
            )
        self.ports[node, port] = item_id
        return int(port)


def lower(run: ResolvedRun, topology: Topology, times: Timetable) -> tuple[TrafficItem, ...]:
    """All items of a run, each server before its client."""
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
    return tuple(items)


def _bulk(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    down = item["direction"] == "down"
    sender, receiver = (state.server, state.client) if down else (state.client, state.server)
    timing = state.times.of(item_id)
    return [
        TcpBulk(
            id=item_id,
            sender=sender,
            receiver=receiver,
            receiver_address=state.topology.address(receiver),
            port=state.port(item, item_id, receiver, BULK_PORT),
            flows=item["flows"],
            cca=item["cca"],
            dscp=item["dscp"],
            ecn=item["ecn"],
            bytes=item["bytes"].bytes if item["bytes"] else None,
            start_spread_ns=item["start_spread"].ns,
            sample_interval_ns=item["sample"].ns if item["sample"] else None,
            start=timing.start,
            stop=timing.stop,
        )
    ]


def _udp_probe(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    timing = state.times.of(item_id)
    return [
        UdpProbe(
            id=item_id,
            client=state.client,
            server=state.server,
            server_address=state.server_address,
            port=state.port(item, item_id, state.server, PROBE_PORT),
            interval_ns=item["interval"].ns,
            payload_bytes=item["payload"].bytes,
            dscp=item["dscp"],
            start=timing.start,
            stop=timing.stop,
        )
    ]


def _icmp_echo(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    timing = state.times.of(item_id)
    return [
        IcmpEcho(
            id=item_id,
            client=state.client,
            server=state.server,
            server_address=state.server_address,
            interval_ns=item["interval"].ns,
            payload_bytes=item["payload"].bytes,
            dscp=item["dscp"],
            start=timing.start,
            stop=timing.stop,
        )
    ]


def _background(
    item_id: str, tool: str, node: str, argv: tuple[str, ...], ready: str, ok_exits: tuple[int, ...] = (0,)
) -> Command:
    return Command(
        id=item_id,
        tool=tool,
        node=node,
        argv=argv,
        env={},
        stop_signal="INT",
        ok_exits=ok_exits,
        background=True,
        ready=Ready(tcp=ready),
        start=SERVER_START,
        stop=None,
    )


def _foreground(item: Traffic, item_id: str, tool: str, argv: tuple[str, ...], state: Lowering) -> Command:
    timing = state.times.of(item_id)
    return Command(
        id=item_id,
        tool=tool,
        node=state.client,
        argv=argv,
        env={},
        stop_signal="INT",
        ok_exits=(0,),
        background=False,
        ready=None,
        start=timing.start,
        stop=timing.stop,
    )


def _ndt7(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    tls = item["tls"]
    port = state.port(item, item_id, state.server, NDT7_TLS_PORT if tls else NDT7_PORT, NDT7_NEXT_PORT)
    at = f"{state.server_address}:{port}"
    scheme = "wss" if tls else "ws"
    server_id = f"{item_id}-server"
    tests = ",".join(item["tests"])

    server: tuple[str, ...]
    client: tuple[str, ...]
    if item["server"] == "narrows":
        server = ("@agent", "ndt7-server", "--listen", at, "--log", f"@out/{server_id}.jsonl")
        server += (*(("--tls",) if tls else ()), *(("--cca", item["cca"]) if item["cca"] else ()))
    else:
        # The official server: cleartext and TLS addresses are separate options, the unused one is kept local.
        addresses = (("-ndt7_addr", at) if tls else ("-ndt7_addr_cleartext", at)) + (
            "-datadir",
            f"@out/{server_id}",
        )
        server = ("ndt-server", *addresses)

    if item["client"] == "narrows":
        client = ("@agent", "ndt7-client", "--server", f"{scheme}://{at}", "--tests", tests)
        client += (*(("--insecure",) if tls else ()), *(("--cca", item["cca"]) if item["cca"] else ()))
    elif item["client"] == "ndt7-client":
        switches = tuple(f"-{t}={'true' if t in item['tests'] else 'false'}" for t in ("download", "upload"))
        client = ("ndt7-client", "-server", at, "-scheme", scheme, "-no-verify", "-format", "json", *switches)
    else:
        client = (*JS_CLIENT, "--server", f"{scheme}://{at}", "--tests", tests)
        client += ("--insecure",) if tls else ()

    return [
        _background(server_id, "ndt7-server", state.server, server, at),
        _foreground(item, item_id, "ndt7", client, state),
    ]


def _iperf3(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    port = state.port(item, item_id, state.server, IPERF3_PORT)
    address = state.server_address
    argv = ["iperf3", "-c", address, "-p", str(port), "--json"]
    # -t 0 runs until it is stopped.
    seconds = 0 if item["duration"] is None else item["duration"].ns // NS_PER_S
    argv += ["-n", str(item["bytes"].bytes)] if item["bytes"] else ["-t", str(seconds)]
    argv += ["-P", str(item["flows"]), "-i", f"{item['interval'].seconds:g}"]
    if item["omit"]:
        argv += ["-O", str(item["omit"].ns // NS_PER_S)]
    if item["udp_rate"] is not None:
        argv += ["-u", "-b", str(item["udp_rate"].bps)]
    else:
        argv += ["-C", item["cca"] or "cubic"]
    if item["dscp"]:
        argv += ["--dscp", str(item["dscp"])]
    argv += {"down": ["-R"], "up": [], "both": ["--bidir"]}[item["direction"]]
    # The server ends with 1 when its client is stopped before the test is over.
    server = ("iperf3", "-s", "-1", "-p", str(port), "--json")
    return [
        _background(f"{item_id}-server", "iperf3-server", state.server, server, f"{address}:{port}", (0, 1)),
        _foreground(item, item_id, "iperf3", tuple(argv), state),
    ]


def _command(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    timing = state.times.of(item_id)

    def filled(text: str) -> str:
        return text.replace("@server", state.server_address).replace("@client", state.client_address)

    names = {"client": state.client, "server": state.server}
    return [
        Command(
            id=item_id,
            tool=item["tool"],
            node=names.get(item["node"], item["node"]),
            argv=tuple(filled(word) for word in item["argv"]),
            env={name: filled(value) for name, value in item["env"].items()},
            stop_signal=item["stop_signal"],
            ok_exits=item["ok_exits"],
            background=item["background"],
            ready=None if item["ready"] is None else Ready(tcp=filled(item["ready"])),
            start=timing.start,
            stop=timing.stop,
        )
    ]


_LOWER: dict[type[Traffic], Callable[[Traffic, str, Lowering], list[TrafficItem]]] = {
    bulk: _bulk,
    ndt7: _ndt7,
    iperf3: _iperf3,
    udp_probe: _udp_probe,
    icmp_echo: _icmp_echo,
    command: _command,
}
