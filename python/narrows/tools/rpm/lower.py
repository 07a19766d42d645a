"""Responsiveness: our server and our client, both part of the agent."""

from narrows.plan.items import TrafficItem
from narrows.plan.lowering import Lowering, background, foreground, receives
from narrows.spec.traffic import Traffic
from narrows.units import Rate

RPM_PORT = 4043
"""The port that goresponsiveness takes unless told otherwise."""
BUSY_RATE = Rate.parse("200 Mbit/s")
BUSY_COALESCE_US = 100
"""Above the rate, a look at the sockets per packet would cost more wall time than the packets: there, probes
are seen up to this much late."""


def lower(item: Traffic, item_id: str, state: Lowering) -> list[TrafficItem]:
    port, at = state.listening(item, item_id, RPM_PORT)
    tls = item["tls"]
    link = state.run.link
    busy = max(link["rate"], link.up("rate")) > BUSY_RATE
    coalesce_us = BUSY_COALESCE_US if busy else 0
    if item["coalesce"] is not None:
        coalesce_us = item["coalesce"].ns // 1000
    both = (
        *("--notsent-lowat", str(item["notsent_lowat"].bytes)),
        *("--coalesce-us", str(coalesce_us)),
        *(("--cca", item["cca"]) if item["cca"] else ()),
    )
    server_id = f"{item_id}-server"
    log = f"@out/{server_id}.jsonl"
    server = ("@agent", "rpm-server", "--listen", at, *(() if tls else ("--plain",)), "--log", log, *both)
    client: tuple[str, ...] = ("@agent", "rpm-client", "--server", f"{'https' if tls else 'http'}://{at}")
    client += (*(("--insecure",) if tls else ()), "--variant", item["variant"])
    client += ("--parallel",) if item["parallel"] else ("--tests", ",".join(item["tests"]))
    client += ("--stage-intervals", str(item["stage_intervals"]), "--idle-probes", str(item["idle_probes"]))
    client += both
    return [
        background(server_id, item_id, "rpm-server", state.server, server, at, cca=item["cca"]),
        foreground(
            item, item_id, "rpm", client, receives(state.server_address, port, "tcp"), state, cca=item["cca"]
        ),
    ]
