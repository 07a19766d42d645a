"""Any other program."""

from __future__ import annotations

from narrows.plan.lowering import Lowering
from narrows.plan.model import Command, Ready, TrafficItem
from narrows.spec.traffic import Traffic


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    """The program, with addresses filled in."""
    timing = state.times.of(item_id)

    def filled(text: str) -> str:
        return text.replace("@server", state.server_address).replace("@client", state.client_address)

    topology = state.topology
    names = {"client": state.client, "server": state.server, "router": topology.bottleneck}
    if item["node"] == "home" and topology.home is None:
        item.fail("node: only a Home has a home router", 'node="client", "server", "router" or "path"')
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
