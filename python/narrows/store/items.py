"""Which traffic item of the plan a flow belongs to, and which way an item's data goes.

Judged by addresses, ports and times alone, from the plan and the agent's log of items; where two items fit,
the answer is None, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from narrows.plan.model import Command, IcmpEcho, Plan, TcpBulk, UdpProbe

IPERF3_PORT = 5201
HTTP_PORTS = {"ws": 80, "http": 80, "wss": 443, "https": 443}
_URL = re.compile(r"\b(wss?|https?)://(\[[0-9a-fA-F:]+\]|[0-9.]+)(?::(\d+))?")
_HOST_PORT = re.compile(r"(?<![\d.])((?:\d{1,3}\.){3}\d{1,3}):(\d+)")


@dataclass(frozen=True)
class Endpoint:
    """The listening side of an item: protocol ("tcp", "udp", "icmp" or None for any), address, port."""

    item: str
    protocol: str | None
    address: str
    port: int | None


@dataclass(frozen=True)
class Span:
    """When an item ran; None: unknown."""

    start_ns: int | None
    end_ns: int | None

    def covers(self, first_ns: int, last_ns: int) -> bool:
        """Whether a flow of these times can belong to it (connections may be set up a little before)."""
        slack_ns = 1_000_000_000
        if self.start_ns is None:
            return True
        return (
            last_ns >= self.start_ns
            and (self.end_ns is None or first_ns <= self.end_ns + slack_ns)
            and (first_ns >= self.start_ns - slack_ns)
        )


class FlowItems:
    """Finds the item of a flow."""

    def __init__(self, plan: Plan, spans: Mapping[str, Span] | None = None) -> None:
        self._endpoints = endpoints(plan)
        self._spans = spans or {}

    def find(
        self,
        protocol: str,
        src: str,
        sport: int | None,
        dst: str,
        dport: int | None,
        first_ns: int,
        last_ns: int,
    ) -> str | None:
        """Id of the one item that fits, else None."""
        fits = set()
        for end in self._endpoints:
            if end.protocol is not None and end.protocol != protocol:
                continue
            ends = ((src, sport), (dst, dport))
            if end.port is None:
                if protocol not in ("icmp", "icmpv6") or end.address not in (src, dst):
                    continue
            elif (end.address, end.port) not in ends:
                continue
            if self._spans.get(end.item, Span(None, None)).covers(first_ns, last_ns):
                fits.add(end.item)
        return fits.pop() if len(fits) == 1 else None


def endpoints(plan: Plan) -> tuple[Endpoint, ...]:
    """Listening ends of all items that make traffic. A background server counts only where no client names
    it.
    """
    clients: list[Endpoint] = []
    servers: list[Endpoint] = []
    for item in plan.traffic:
        if isinstance(item, TcpBulk):
            clients.append(Endpoint(item.id, "tcp", item.receiver_address, item.port))
        elif isinstance(item, UdpProbe):
            clients.append(Endpoint(item.id, "udp", item.server_address, item.port))
        elif isinstance(item, IcmpEcho):
            clients.append(Endpoint(item.id, "icmp", item.server_address, None))
        else:
            named = [Endpoint(item.id, None, address, port) for address, port in _command_ends(item)]
            (servers if item.background else clients).extend(named)
    taken = {(end.address, end.port) for end in clients}
    return tuple(clients) + tuple(end for end in servers if (end.address, end.port) not in taken)


def _command_ends(item: Command) -> list[tuple[str, int]]:
    argv = list(item.argv)
    found: list[tuple[str, int]] = []
    for scheme, host, port in _URL.findall(" ".join(argv)):
        found.append((host.strip("[]"), int(port) if port else HTTP_PORTS[scheme]))
    for host, port in _HOST_PORT.findall(" ".join(argv)):
        found.append((host, int(port)))
    if item.tool in ("iperf3", "iperf3-server", "capacity_test"):
        port = int(_option(argv, "-p", "--port") or IPERF3_PORT)
        address = _option(argv, "-c", "--client") or _option(argv, "-B", "--bind")
        if address:
            found.append((address, port))
    if item.ready is not None:
        host, _, port = item.ready.tcp.rpartition(":")
        found.append((host.strip("[]"), int(port)))
    return sorted(set(found))


def _option(argv: list[str], *names: str) -> str | None:
    for index, word in enumerate(argv):
        for option in names:
            if word == option and index + 1 < len(argv):
                return argv[index + 1]
            if option.startswith("--") and word.startswith(option + "="):
                return word.partition("=")[2]
    return None


def roles(plan: Plan) -> dict[str, str]:
    """Role by node name."""
    return {node.name: node.role for node in plan.nodes}


def sending_direction(plan: Plan, sender: str) -> str:
    """Which way data of a sender goes: a node with the role server sends down, all others up."""
    return "down" if roles(plan).get(sender) == "server" else "up"
