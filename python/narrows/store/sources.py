"""Finds each raw file of a run by the plan and hands it to its parser.

The plan says what must be there: an item that ran and left no file is an error, not an absence.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from narrows.errors import NarrowsError
from narrows.plan.items import IcmpEcho, OwnTool, TcpBulk, TrafficItem, UdpProbe
from narrows.plan.model import Plan, QdiscSampler, Sampler, TcpInfoSampler
from narrows.store import own_tools
from narrows.store.agent_result import AgentResult, ItemOutcome
from narrows.store.command_run import CommandRun, read_pieces, read_text
from narrows.store.items import FlowItems, Span, sending_direction
from narrows.store.parsers import counters, tcp_info
from narrows.store.parsers.common import Parsed
from narrows.store.spill import Spill
from narrows.store.whose import Whose, of_part
from narrows.tools import registry
from narrows.tools.bulk import parse as bulk
from narrows.tools.probes import parse as probe

RAN = ("ended", "stopped")
PIECE_BYTES = 16_000_000
"""So much text is read at once: some 60,000 lines, which become four million rows of some 150 MB."""


def parse_all(
    plan: Plan, result: AgentResult, raw: Path, flows: pl.DataFrame, spill: Spill, *, is_whole: bool = True
) -> Parsed:
    """Rows and figures of all items and samplers. `flows` (from the tap) helps to time what has no clock.

    Rows of a file that is too large to be held go to `spill`. Of a run that is not whole (it failed while
    there was traffic) files may be cut off or missing: what cannot be read is then a warning and no error.
    """
    everything, parts = Parsed(), dict[str, Parsed]()

    def attempt(what: str, read: Callable[[], Parsed]) -> Parsed:
        try:
            return read()
        except NarrowsError as error:
            if is_whole:
                raise
            return Parsed(warnings=[f"{what}: cut off when the run failed: {error.message}"])

    for item in plan.traffic:
        outcome = result.items.get(item.id)
        if outcome is None or outcome.status not in (RAN if is_whole else (*RAN, "failed")):
            continue
        parts[item.id] = attempt(item.id, partial(_item, plan, item, result, outcome, raw, flows, spill))
    for composite in plan.composites:
        read_parts = registry.function(composite.tool, registry.PARSE, "read_parts")
        # Without all of its parts a tool of several items says nothing.
        if read_parts is not None and (is_whole or all(part in parts for part in composite.parts)):
            read_all = partial(read_parts, composite, parts)
            everything.merge(attempt(composite.id, read_all).of(Whose(composite.id)))
    for each in parts.values():
        everything.merge(each)
    for sampler in plan.samplers:
        read_sampler = partial(_sampler, plan, sampler, raw, spill, _owner(plan, result))
        everything.merge(attempt(sampler.id, read_sampler))
    return everything


def _item(
    plan: Plan,
    item: TrafficItem,
    result: AgentResult,
    outcome: ItemOutcome,
    raw: Path,
    flows: pl.DataFrame,
    spill: Spill,
) -> Parsed:
    if isinstance(item, TcpBulk):
        return _bulk(plan, item, raw, spill)
    if isinstance(item, UdpProbe | IcmpEcho):
        name = f"{item.id}.csv"
        way = sending_direction(plan, item.client)
        text = read_text(raw, name)
        settled = (outcome.details or {}).get("settled", True)
        parsed = probe.parse(text, item.id, toward_server=way, settled=settled, where=f"raw/{name}")
        return parsed.of(of_part(item))
    epoch_ns = result.epoch_monotonic_ns or 0
    # a guest boots at the plan's wall clock, with CLOCK_MONOTONIC at 0
    wall_ns = result.wall_epoch_ns
    wall_ns = plan.wall_clock_ns + epoch_ns if wall_ns is None else wall_ns
    return _command(CommandRun(item, plan, raw, outcome.start_ns, flows, epoch_ns, wall_ns))


def _owner(plan: Plan, result: AgentResult) -> tcp_info.Owner:
    """Whose a socket is, by the endpoints and times of items."""
    finder = FlowItems(plan, {name: Span(item.start_ns, item.end_ns) for name, item in result.items.items()})

    def owner(src: str, sport: int, dst: str, dport: int, first_ns: int, last_ns: int) -> Whose:
        found = finder.find("tcp", src, sport, dst, dport, first_ns, last_ns)
        return Whose() if found is None else of_part(finder.parts[found])

    return owner


def _sampler(plan: Plan, sampler: Sampler, raw: Path, spill: Spill, owner: tcp_info.Owner) -> Parsed:
    name = f"{sampler.id}.csv"
    where, whose = f"raw/{name}", Whose(hop=sampler.id)
    if isinstance(sampler, TcpInfoSampler):
        return _at(sampler.node, _tcp_info(raw, name, whose, spill, owner=owner))
    if isinstance(sampler, QdiscSampler):
        way_of_hop = next(
            (h.direction for h in plan.hops if (h.node, h.iface) == (sampler.node, sampler.iface)), None
        )
        return counters.parse_qdisc(read_text(raw, name), direction=way_of_hop, where=where).of(whose)
    return counters.parse_link(read_text(raw, name), where=where).of(whose)


def _bulk(plan: Plan, item: TcpBulk, raw: Path, spill: Spill) -> Parsed:
    way = sending_direction(plan, item.sender)
    name = f"{item.id}.flows.csv"
    parsed = bulk.parse(read_text(raw, name), item.id, direction=way, where=f"raw/{name}").of(of_part(item))
    if item.sample_interval_ns is not None:
        name = f"{item.id}.info.csv"
        parsed.merge(_at(item.sender, _tcp_info(raw, name, of_part(item), spill, way)))
    return parsed


def _at(node: str, parsed: Parsed) -> Parsed:
    """Its sockets are those of a node."""
    parsed.sockets = [frame.select(pl.lit(node).alias("node"), pl.all()) for frame in parsed.sockets]
    return parsed


def _tcp_info(
    raw: Path,
    name: str,
    whose: Whose,
    spill: Spill,
    way: str | None = None,
    owner: tcp_info.Owner | None = None,
) -> Parsed:
    """In pieces: TCP_INFO of thousands of sockets is gigabytes of text, and as rows ten times that."""
    parsed, pieces = Parsed(), 0
    for before, text in read_pieces(raw, name, PIECE_BYTES):
        where = f"raw/{name}"
        piece = tcp_info.parse(text, direction=way, owner=owner, where=where, lines_before=before).of(whose)
        if pieces:
            spill.add(parsed.samples)
            parsed.samples = []
        parsed.merge(piece)
        pieces += 1
    if pieces > 1:
        spill.add(parsed.samples)
        parsed.samples = []
    return parsed


def _command(ran: CommandRun) -> Parsed:
    """What the tool's own parser says; the output of a program without one is kept, and not read."""
    own = next((c for c in ran.plan.composites if isinstance(c, OwnTool) and ran.item.id in c.parts), None)
    if own is not None:
        return own_tools.read(own, ran).of(Whose(own.id))
    read = registry.function(ran.item.tool, registry.PARSE, "read")
    return Parsed() if read is None else read(ran).of(of_part(ran.item))
