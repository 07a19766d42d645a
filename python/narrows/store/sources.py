"""Finds each raw file of a run by the plan and hands it to its parser.

The plan says what must be there: an item that ran and left no file is an error, not an absence.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from narrows.errors import StoreError
from narrows.plan.model import (
    Command,
    Composite,
    IcmpEcho,
    Plan,
    QdiscSampler,
    TcpBulk,
    TcpInfoSampler,
    UdpProbe,
)
from narrows.store.agent_result import AgentResult
from narrows.store.items import sending_direction
from narrows.store.parsers import counters, tcp_info
from narrows.store.parsers.common import Parsed
from narrows.store.tap import flow_label
from narrows.tools.bulk import parse as bulk
from narrows.tools.capacity_test import parse as capacity_test
from narrows.tools.cloudflare import parse as cloudflare
from narrows.tools.iperf3 import parse as iperf3
from narrows.tools.ndt7 import parse as ndt7
from narrows.tools.probes import parse as probe
from narrows.tools.rpm import parse as rpm
from narrows.tools.rrul import parse as rrul
from narrows.tools.udp_capacity import parse as udp_capacity
from narrows.tools.web_speed import parse as web_speed

RAN = ("ended", "stopped")


def read_text(raw: Path, name: str) -> str:
    """A raw file as text, also where it has been compressed since."""
    path = raw / name
    try:
        if path.exists():
            return path.read_text(errors="replace")
        return gzip.decompress((raw / f"{name}.gz").read_bytes()).decode(errors="replace")
    except FileNotFoundError:
        raise StoreError(f"raw/{name} is missing", remedy="see raw/agent.jsonl and console.log") from None
    except OSError as error:
        raise StoreError(f"raw/{name} cannot be read: {error.strerror}") from None


def parse_all(plan: Plan, result: AgentResult, raw: Path, flows: pl.DataFrame) -> Parsed:
    """Rows and figures of all items and samplers. `flows` (from the tap) helps to time what has no clock."""
    everything, parts = Parsed(), dict[str, Parsed]()
    for item in plan.traffic:
        outcome = result.items.get(item.id)
        if outcome is None or outcome.status not in RAN:
            continue
        if isinstance(item, TcpBulk):
            parts[item.id] = _bulk(plan, item, raw)
        elif isinstance(item, UdpProbe | IcmpEcho):
            name = f"{item.id}.csv"
            way = sending_direction(plan, item.client)
            text = read_text(raw, name)
            parsed = probe.parse(text, item.id, toward_server=way, where=f"raw/{name}")
            parts[item.id] = _own_source(parsed, item.id)
        else:
            epoch_ns = result.epoch_monotonic_ns or 0
            parts[item.id] = _command(CommandRun(item, plan, raw, outcome.start_ns, flows, epoch_ns))
    for composite in plan.composites:
        if composite.tool in ("rrul", "rrul_be"):
            everything.merge(_rrul(composite, parts))
    for each in parts.values():
        everything.merge(each)
    for sampler in plan.samplers:
        name = f"{sampler.id}.csv"
        text, where = read_text(raw, name), f"raw/{name}"
        if isinstance(sampler, TcpInfoSampler):
            everything.merge(tcp_info.parse(text, sampler.id, where=where))
        elif isinstance(sampler, QdiscSampler):
            way_of_hop = next(
                (h.direction for h in plan.hops if (h.node, h.iface) == (sampler.node, sampler.iface)), None
            )
            everything.merge(counters.parse_qdisc(text, sampler.id, direction=way_of_hop, where=where))
        else:
            everything.merge(counters.parse_link(text, sampler.id, where=where))
    return everything


def _own_source(parsed: Parsed, item: str) -> Parsed:
    """Figures without a source belong to the item."""
    parsed.metrics = [
        m if m.source is not None else type(m)(m.name, m.value, m.unit, m.direction, item)
        for m in parsed.metrics
    ]
    return parsed


def _bulk(plan: Plan, item: TcpBulk, raw: Path) -> Parsed:
    way = sending_direction(plan, item.sender)
    name = f"{item.id}.flows.csv"
    parsed = _own_source(
        bulk.parse(read_text(raw, name), item.id, direction=way, where=f"raw/{name}"), item.id
    )
    if item.sample_interval_ns is not None:
        name = f"{item.id}.info.csv"
        parsed.merge(tcp_info.parse(read_text(raw, name), item.id, direction=way, where=f"raw/{name}"))
    return parsed


@dataclass(frozen=True)
class CommandRun:
    """A command that ran, and what its parser may need of the run."""

    item: Command
    plan: Plan
    raw: Path
    start_ns: int | None
    flows: pl.DataFrame
    epoch_ns: int

    @property
    def where(self) -> str:
        """The file, for messages."""
        return f"raw/{self.item.id}.stdout"

    def stdout(self) -> str:
        """What it printed."""
        return read_text(self.raw, f"{self.item.id}.stdout")


def _iperf3(ran: CommandRun) -> Parsed:
    way = sending_direction(ran.plan, ran.item.node)
    return iperf3.parse(ran.stdout(), ran.item.id, start_ns=ran.start_ns, client_sends=way, where=ran.where)


def _capacity_test(ran: CommandRun) -> Parsed:
    test = next(each for each in ran.plan.composites if ran.item.id in each.parts)
    advertised = {way: _number(test.options[f"advertised_{way}_bps"]) for way in ("down", "up")}
    parsed = capacity_test.parse(
        ran.stdout(),
        test.id,
        advertised_bps=advertised,
        start_ns=ran.start_ns,
        client_sends=sending_direction(ran.plan, ran.item.node),
        where=ran.where,
    )
    return _own_source(parsed, test.id)


def _rrul(composite: Composite, parts: dict[str, Parsed]) -> Parsed:
    options = {name: int(value) for name, value in composite.options.items() if isinstance(value, int)}
    parsed = rrul.parse(
        composite.id,
        {name: parts[name] for name in composite.parts if name in parts},
        load_from_ns=options["load_from_ns"],
        load_to_ns=options["load_to_ns"],
        flows=options["flows"],
    )
    return _own_source(parsed, composite.id)


def _number(value: int | float | str | None) -> float | None:
    return None if value is None else float(value)


def _cloudflare(ran: CommandRun) -> Parsed:
    # The guest boots at the plan's wall clock, with CLOCK_MONOTONIC at 0.
    wall_epoch_ns = ran.plan.wall_clock_ns + ran.epoch_ns
    return cloudflare.parse(ran.stdout(), ran.item.id, wall_epoch_ns=wall_epoch_ns, where=ran.where)


def _web_speed(ran: CommandRun) -> Parsed:
    return web_speed.parse(ran.stdout(), ran.item.id, epoch_ns=ran.epoch_ns, where=ran.where)


def _udp_capacity(ran: CommandRun) -> Parsed:
    return udp_capacity.parse(ran.stdout(), ran.item.id, epoch_ns=ran.epoch_ns, where=ran.where)


def _ndt7(ran: CommandRun) -> Parsed:
    text = ran.stdout()
    starts = ndt7_starts(ndt7.messages(text, where=ran.where), ran.flows, ran.start_ns)
    return ndt7.parse(text, ran.item.id, starts_ns=starts, epoch_ns=ran.epoch_ns, where=ran.where)


def _rpm(ran: CommandRun) -> Parsed:
    return rpm.parse(ran.stdout(), ran.item.id, epoch_ns=ran.epoch_ns, where=ran.where)


COMMANDS: dict[str, Callable[[CommandRun], Parsed]] = {
    "capacity_test": _capacity_test,
    "cloudflare": _cloudflare,
    "iperf3": _iperf3,
    "ndt7": _ndt7,
    "udp_capacity": _udp_capacity,
    "web_speed": _web_speed,
    "rpm": _rpm,
}
"""What reads the output of each tool. The output of others is kept, and not read."""


def _command(ran: CommandRun) -> Parsed:
    read = COMMANDS.get(ran.item.tool)
    return Parsed() if read is None else _own_source(read(ran), ran.item.id)


def ndt7_starts(
    messages: list[ndt7.Message], flows: pl.DataFrame, item_start_ns: int | None
) -> dict[str, int | None]:
    """When download and upload began.

    A test's first packet at the bottleneck, found by the client's address in ConnectionInfo, else (one
    test only) the item's start. The measurement clock of the protocol starts after the handshake, one or
    two base RTTs later; so do the stamps made from it.
    """
    starts: dict[str, int | None] = {}
    for message in messages:
        direction = ndt7.DIRECTIONS[message["Test"]]
        connection = message.get("ConnectionInfo") or {}
        if starts.get(direction) is None:
            starts[direction] = _first_packet_ns(flows, connection.get("Client"), connection.get("Server"))
    if len(starts) == 1:
        for direction, at in starts.items():
            starts[direction] = item_start_ns if at is None else at
    return starts


def _first_packet_ns(flows: pl.DataFrame, client: str | None, server: str | None) -> int | None:
    if not client or not server or not flows.height:
        return None
    ends = []
    for text in (client, server):
        host, _, port = text.rpartition(":")
        if not port.isdigit():
            return None
        ends.append((host.strip("[]"), int(port)))
    labels = [flow_label("tcp", *ends[0], *ends[1]), flow_label("tcp", *ends[1], *ends[0])]
    first = flows.filter(pl.col("label").is_in(labels))["first_ns"].min()
    return int(first) if isinstance(first, int) else None
