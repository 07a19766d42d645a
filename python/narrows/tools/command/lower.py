"""Any other program."""

from __future__ import annotations

import re

from narrows.plan.lowering import Lowering, receives, started
from narrows.plan.model import Command, Endpoint, Ready, TrafficItem
from narrows.spec.traffic import Traffic

SCHEME_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_PLACE = re.compile(r"(?:\b(https?|wss?)://)?@(server|client)\b(?::(\d+))?")
"""A place that narrows fills in, with the port or the scheme that the experiment gives with it."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The program, with addresses filled in."""
    timing = state.times.of(item_id)
    addresses = {"server": state.server_address, "client": state.client_address}

    def filled(text: str) -> str:
        return text.replace("@server", addresses["server"]).replace("@client", addresses["client"])

    def ends(text: str) -> tuple[Endpoint, ...]:
        return tuple(
            end
            for scheme, place, port in _PLACE.findall(text)
            if port or scheme
            for end in receives(addresses[place], int(port or SCHEME_PORTS[scheme]), "tcp", "udp")
        )

    topology = state.topology
    names = {"client": state.client, "server": state.server, "router": topology.bottleneck}
    if item["node"] == "home" and topology.home is None:
        item.fail("node: only a Home has a home router", 'node="client", "server", "router" or "path"')
    told = item["endpoint"] or (*item["argv"], *([] if item["ready"] is None else [item["ready"]]))
    argv = tuple(filled(word) for word in item["argv"])
    return [
        Command(
            id=item_id,
            item=item_id,
            tool=item["tool"],
            node=names.get(item["node"], item["node"]),
            argv=argv,
            env={name: filled(value) for name, value in item["env"].items()},
            stop_signal=item["stop_signal"],
            ok_exits=item["ok_exits"],
            background=item["background"],
            ready=None if item["ready"] is None else Ready(tcp=filled(item["ready"])),
            endpoints=tuple(dict.fromkeys(end for text in told for end in ends(text))),
            programs=started(argv),
            files=(),
            memory_bytes=0,
            start=timing.start,
            stop=timing.stop,
        )
    ]
