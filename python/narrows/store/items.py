"""Which traffic item of the plan a flow belongs to, and which way an item's data goes.

Judged by the endpoints that the plan gives its items, and by times from the agent's log of items; where two
items fit, the answer is None, never a guess.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from narrows.plan.items import Command, Endpoint
from narrows.plan.model import Plan
from narrows.store.tap import Flow


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
        self.parts = {part.id: part for part in plan.traffic}
        self._spans = spans or {}

    def of(self, flow: Flow, first_ns: int, last_ns: int) -> str | None:
        """Item of a flow of the tap; of fragments it is known by time (`store.fragments`)."""
        if flow.fragments:
            return flow.item
        return self.find(flow.protocol, flow.src, flow.sport, flow.dst, flow.dport, first_ns, last_ns)

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
        """Id of the one item that fits, else None. Who has the very port comes before who may have any, as a
        call does: a port that one has, no other can have."""
        exact, any_port = set(), set()
        ends = ((src, sport), (dst, dport))
        for item, end in self._endpoints:
            if end.protocol != protocol or not self._spans.get(item, Span(None, None)).covers(
                first_ns, last_ns
            ):
                continue
            if end.port is not None and (end.address, end.port) in ends:
                exact.add(item)
            elif end.port is None and end.address in (src, dst):
                any_port.add(item)
        fits = exact or any_port
        return fits.pop() if len(fits) == 1 else None


def endpoints(plan: Plan) -> tuple[tuple[str, Endpoint], ...]:
    """Items, each with an endpoint of its own. A server in the background counts only where no client has the
    same endpoint: its flows are the client's.
    """
    servers = {item.id for item in plan.traffic if isinstance(item, Command) and item.background}
    every = [(item.id, end) for item in plan.traffic for end in item.endpoints]
    clients = tuple((item, end) for item, end in every if item not in servers)
    taken = {(end.address, end.port) for _, end in clients}
    return clients + tuple(
        (item, end) for item, end in every if item in servers and (end.address, end.port) not in taken
    )


def roles(plan: Plan) -> dict[str, str]:
    """Role by node name."""
    return {node.name: node.role for node in plan.nodes}


def sending_direction(plan: Plan, sender: str) -> str:
    """Which way data of a sender goes: a node with the role server sends down, all others up."""
    return "down" if roles(plan).get(sender) == "server" else "up"
