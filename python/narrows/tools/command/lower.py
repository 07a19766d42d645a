"""Any other program."""

import os
import re
from collections.abc import Callable
from pathlib import Path

from narrows.plan.files import with_files
from narrows.plan.items import Command, Endpoint, Ready, TrafficItem, Uses
from narrows.plan.lowering import Lowering, receives, started
from narrows.spec.traffic import Traffic

SCHEME_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}
_PLACE = re.compile(r"(?:\b(https?|wss?)://)?@(server|client)\b(?::(\d+))?")
"""A place that narrows fills in, with the port or the scheme that the experiment gives with it."""


def _ready(item: Traffic, filled: Callable[[str], str]) -> Ready | None:
    if item["ready_line"] is not None:
        return Ready(line=item["ready_line"])
    if item["ready"] is None:
        return None
    protocol, _, at = item["ready"].rpartition("://")
    return Ready(udp=filled(at)) if protocol == "udp" else Ready(tcp=filled(at))


def _uses(item: Traffic) -> Uses | None:
    mss, pacing = item["mss"], item["pacing"]
    uses = Uses(
        cca=item["cca"],
        ecn=item["ecn"],
        mss_bytes=None if mss is None else mss.bytes,
        max_pacing_bps=None if pacing is None else pacing.bps,
    )
    return None if uses == Uses() else uses


def depended(item: Traffic) -> list[Path]:
    """The files and folders that `depends` names, as seen from the experiment."""
    beside = Path(item.where.rpartition(":")[0]).absolute().parent
    depends = [Path(os.path.abspath(beside / Path(name).expanduser())) for name in item["depends"]]
    for name, path in zip(item["depends"], depends, strict=True):
        if not path.exists():
            item.fail(f"depends: there is no {name}", f"a file or folder, as seen from {beside}")
    return depends


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
    texts = item["endpoint"] or (*item["argv"], *([] if item["ready"] is None else [item["ready"]]))
    argv = tuple(filled(word) for word in item["argv"])
    made = Command(
        id=item_id,
        item=item_id,
        tool=item["tool"],
        node=names.get(item["node"], item["node"]),
        argv=argv,
        env={name: filled(value) for name, value in item["env"].items()},
        stop_signal=item["stop_signal"],
        ok_exits=item["ok_exits"],
        background=item["background"],
        ready=_ready(item, filled),
        endpoints=tuple(dict.fromkeys(end for text in texts for end in ends(text))),
        programs=started(argv),
        files=(),
        memory_bytes=0,
        uses=_uses(item),
        start=timing.start,
        stop=timing.stop,
    )
    return [with_files(made, depended(item))]
