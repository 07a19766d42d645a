"""Finds each raw file of a run by the plan and hands it to its parser.

The plan says what must be there: an item that ran and left no file is an error, not an absence.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from narrows.plan.model import IcmpEcho, OwnTool, Plan, QdiscSampler, TcpBulk, TcpInfoSampler, UdpProbe
from narrows.store import own_tools
from narrows.store.agent_result import AgentResult
from narrows.store.command_run import CommandRun, read_text
from narrows.store.items import sending_direction
from narrows.store.parsers import counters, tcp_info
from narrows.store.parsers.common import Parsed
from narrows.tools import registry
from narrows.tools.bulk import parse as bulk
from narrows.tools.probes import parse as probe

RAN = ("ended", "stopped")


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
            settled = (outcome.details or {}).get("settled", True)
            parsed = probe.parse(text, item.id, toward_server=way, settled=settled, where=f"raw/{name}")
            parts[item.id] = parsed.of(item.id)
        else:
            epoch_ns = result.epoch_monotonic_ns or 0
            # a guest boots at the plan's wall clock, with CLOCK_MONOTONIC at 0
            wall_ns = result.wall_epoch_ns
            wall_ns = plan.wall_clock_ns + epoch_ns if wall_ns is None else wall_ns
            ran = CommandRun(item, plan, raw, outcome.start_ns, flows, epoch_ns, wall_ns)
            parts[item.id] = _command(ran)
    for composite in plan.composites:
        read_parts = registry.function(composite.tool, registry.PARSE, "read_parts")
        if read_parts is not None:
            everything.merge(read_parts(composite, parts).of(composite.id))
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


def _bulk(plan: Plan, item: TcpBulk, raw: Path) -> Parsed:
    way = sending_direction(plan, item.sender)
    name = f"{item.id}.flows.csv"
    parsed = bulk.parse(read_text(raw, name), item.id, direction=way, where=f"raw/{name}").of(item.id)
    if item.sample_interval_ns is not None:
        name = f"{item.id}.info.csv"
        parsed.merge(tcp_info.parse(read_text(raw, name), item.id, direction=way, where=f"raw/{name}"))
    return parsed


def _command(ran: CommandRun) -> Parsed:
    """What the tool's own parser says; the output of a program without one is kept, and not read."""
    own = next((c for c in ran.plan.composites if isinstance(c, OwnTool) and ran.item.id in c.parts), None)
    if own is not None:
        return own_tools.read(own, ran).of(own.id)
    read = registry.function(ran.item.tool, registry.PARSE, "read")
    return Parsed() if read is None else read(ran).of(ran.item.id)
