"""The items of a run: whatever shared its link, each in the same words, whichever tool it is.

An item is what the experiment calls one: a bulk flow, a speed test, a video, a page, a call, a download, a
probe, a `command()`, a tool or service of one's own. Its parts and servers in the plan are one item here.

Rates are of the tap where packets wait (of a Home the slower of its two places), as its shaper counts bytes.
`rate_bps` is over the time that the item loaded that way; `shared_bps` over the middle three fifths of the
time that all items which load that way did (of trials: `narrows.runs.settled`). A way is one of an item's if
a tenth of its bytes went there.
Shares of a fair rate need other runs too: `narrows.comparing.items`. No file is read here.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

from narrows.errors import NarrowsError
from narrows.metrics.statistics.arrays import clean
from narrows.plan import uses
from narrows.plan.items import Command, Endpoint, OwnTool, TcpBulk, TrafficItem
from narrows.plan.lowering import CCA
from narrows.plan.model import Plan
from narrows.runs.measure import Measure
from narrows.runs.observed import DIRECTIONS, Observed, Series, Window, is_background, is_probe, span
from narrows.runs.settled import LEFT_OUT, RATE, settled_window
from narrows.spec.pairs import PAIR
from narrows.store import own_tools
from narrows.store.items import endpoints, roles
from narrows.store.whose import Whose, of_part
from narrows.tools import reading, registry
from narrows.units import NS_PER_S, unit_of_name

OF_TAP = ("tap_arrived", "tap_dropped", "sojourn_p50_ms", "sojourn_p95_ms", "sojourn_p99_ms")
"""What a shard keeps of the tap's figures of a hop, and of each item there."""
A_WAY = 0.1
"""The least part of an item's bytes."""
SHARED = "shared_throughput_bps"
"""The quantity (`narrows.runs.quantities`) that `shared_bps` is, so that a shard has it too."""
BIN_NS = 10_000_000


@dataclass(frozen=True)
class Way:
    """What an item did in one direction, where packets wait. None: not measured."""

    window: Window | None = None
    """When it loaded that way, in ns."""
    rate_bps: float | None = None
    shared_bps: float | None = None
    """None too where nothing else loaded that way at the time."""
    goodput_bps: float | None = None
    """As the item itself says, at the layer that its tool declares."""
    layer: str = reading.PAYLOAD
    loss: float | None = None
    """Its packets that were dropped over those that arrived."""
    marked: float | None = None
    """Its packets that were marked over those that left."""
    queueing_p50_ms: float | None = None
    queueing_p95_ms: float | None = None
    """How long its packets stood in the queue."""
    done: bool = False
    """Whether it had ended by itself before all had settled, so that its rate says nothing of it."""


@dataclass(frozen=True)
class Item:
    name: str
    what: str
    """The word that the experiment used: bulk, video, ndt7, command, …"""
    is_probe: bool
    client: str
    server: str | None
    """Nodes; of bulk flows the receiver is the client's end. None: the plan names no server."""
    endpoints: tuple[Endpoint, ...]
    ccas: tuple[str, ...]
    """The congestion controls that it says it uses; where it says nothing, those that its sockets used."""
    ways: Mapping[str, Way] = field(default_factory=dict)
    figures: tuple[Measure, ...] = ()
    ends: bool = False
    """Whether it ended by itself, as a page does that has loaded."""

    @property
    def main_way(self) -> str | None:
        """The direction of most of its data; None where it sent nothing, or where that was not seen."""
        known = [(way.rate_bps or way.goodput_bps or 0.0, name) for name, way in self.ways.items()]
        return max(known, key=lambda each: each[0])[1] if known else None

    @property
    def fares(self) -> tuple[Measure, ...]:
        """Its figures that say how it fares, the one that matters most first. A transfer fares as its rate
        does: what it says of its throughput and of what it sent again is not among them."""
        is_transfer = any(each.reads is not None for each in self.figures)
        told = (each for each in self.figures if each.better in (reading.MORE, reading.LESS))
        plain = (None, reading.THROUGHPUT)
        return tuple(each for each in told if not is_transfer or each.reads not in plain)


def items(run: Observed) -> tuple[Item, ...]:
    """Those of a run, in the order of the plan; none of a run that does not count."""
    if "items" not in run.kept:
        run.kept["items"] = tuple(
            _item(run, name, parts)
            for name, parts in _groups(run).items()
            if run.ok and any(not is_background(part) for part in parts)
        )
    every: tuple[Item, ...] = run.kept["items"]
    return every


def _groups(run: Observed) -> dict[str, list[TrafficItem]]:
    groups: dict[str, list[TrafficItem]] = {}
    for part in run.plan.traffic:
        groups.setdefault(part.item, []).append(part)
    return groups


def _item(run: Observed, name: str, parts: Sequence[TrafficItem]) -> Item:
    plan, own = run.plan, [part for part in parts if not is_background(part)]
    client, server = _ends(plan, own[0])
    ids = {name, *(part.id for part in parts)}
    word = _word(plan, name, own[0])
    figures = (*_figures(run, name), *_of_the_run(run, word, name))
    declared = _declared()
    ends = any(each.quantity in declared and declared[each.quantity][1].ends for each in figures)
    ways = {}
    for way in DIRECTIONS:
        if way in _ways(run, own):
            ways[way] = _way(run, name, own, way, ends, figures)
    return Item(
        name=name,
        what=word,
        is_probe=all(is_probe(part) for part in own),
        client=client,
        server=server,
        endpoints=tuple(end for owner, end in endpoints(plan) if owner in ids),
        ccas=_ccas(run, _with_servers(plan, parts), server),
        ways=ways,
        figures=figures,
        ends=ends,
    )


def _word(plan: Plan, name: str, part: TrafficItem) -> str:
    whole = next((c for c in plan.composites if c.id == name), None)
    if whole is not None:
        return whole.tool
    if isinstance(part, Command):
        return part.tool
    return "bulk" if isinstance(part, TcpBulk) else part.kind


def _ends(plan: Plan, part: TrafficItem) -> tuple[str, str | None]:
    """The node at home and the node that serves it, in the words of the plan's roles."""
    if isinstance(part, TcpBulk):
        ends = (part.sender, part.receiver)
        is_server = [roles(plan).get(node) == "server" for node in ends]
        return (ends[1], ends[0]) if is_server[0] else ends
    if isinstance(part, Command):
        serving = [other.node for other in plan.traffic if isinstance(other, Command) and other.background]
        mine = [
            other.node
            for other in plan.traffic
            if isinstance(other, Command) and other.background and other.item == part.item
        ]
        return part.node, next(iter(mine or serving), None)
    return part.client, part.server


def _with_servers(plan: Plan, parts: Sequence[TrafficItem]) -> list[TrafficItem]:
    """And the servers that stand in the experiment as items of their own, by where its flows are received."""
    ends = {end for part in parts for end in part.endpoints}
    others = [each for each in plan.traffic if is_background(each) and each not in parts]
    return [*parts, *(each for each in others if ends & set(each.endpoints))]


def _ccas(run: Observed, parts: Sequence[TrafficItem], server: str | None) -> tuple[str, ...]:
    """What its parts say that they use; where they say nothing, what its sockets used; where none was seen,
    what its nodes were set to."""
    said = {wanted.cca for part in parts if (wanted := uses.said(part)) is not None and wanted.cca}
    sockets: Mapping[str, Sequence[Mapping[str, Any]]] = run.manifest.get("sockets") or {}
    kinds = [kind for part in parts for kind in sockets.get(part.id, ())]
    whole = sum(kind["bytes"] for kind in kinds)
    used = {kind["cca"] for kind in kinds if kind["bytes"] >= max(1, uses.COUNTS * whole)}
    nodes = {server, *(part.node for part in parts if isinstance(part, Command))}
    of_nodes = {each.value for each in run.plan.sysctls if each.name == CCA and each.node in nodes}
    return tuple(sorted(said or used or of_nodes))


# ---- the tap -----------------------------------------------------------------------------------------------


def _tap_sum(run: Observed, parts: Sequence[TrafficItem], way: str, name: str) -> float | None:
    known = [run.figure(name, way, of_part(part, run.bottleneck(way))) for part in parts]
    there = [value for value in known if value is not None]
    return sum(there) if there else None


def _ways(run: Observed, own: Sequence[TrafficItem]) -> set[str]:
    """The directions that the item loaded: as its tool says, else those with a part of its bytes."""
    sent = {way: _tap_sum(run, own, way, "tap_departed_bytes") or 0.0 for way in DIRECTIONS}
    if whole := sum(sent.values()):
        loaded = {way for way in DIRECTIONS if (own[0].item, way) in run.windows}
        return loaded | {way for way, size in sent.items() if size >= A_WAY * whole}
    # A shard keeps no bytes of items, and not every run has a tap.
    said = {name.direction for name in run.figures if name.direction and _is_of(name.whose, own[0].item)}
    met = {way for way in DIRECTIONS if run.quantity(SHARED, f"{own[0].item} {way}") is not None}
    met |= {"down" for part in own if run.quantity(RATE, part.id) is not None}
    if said or met:
        return said | met
    packets = {way: _tap_sum(run, own, way, "tap_arrived") or 0.0 for way in DIRECTIONS}
    return {max(packets, key=lambda way: packets[way])} if any(packets.values()) else set()


def _way(
    run: Observed, name: str, own: Sequence[TrafficItem], way: str, ends: bool, figures: Sequence[Measure]
) -> Way:
    arrived = _tap_sum(run, own, way, "tap_arrived")
    departed = _tap_sum(run, own, way, "tap_departed")
    dropped, marked = (_tap_sum(run, own, way, f"tap_{each}") for each in ("dropped", "marked"))
    there = {part.id: of_part(part, run.bottleneck(way)) for part in own}
    most = max(there.values(), key=lambda whose: run.figure("tap_departed", way, whose) or 0.0)
    window, shared = _window(run, name, own, way), _shared_rate(run, own, way)
    settled = _mean_rate(run, own, way, _middle(window)) if shared is None else shared
    goodput = next((one for one in figures if (one.reads, one.direction) == (reading.THROUGHPUT, way)), None)
    return Way(
        window=window,
        rate_bps=_mean_rate(run, own, way, window),
        shared_bps=shared,
        goodput_bps=None if goodput is None else goodput.value,
        layer=reading.PAYLOAD if goodput is None else goodput.layer,
        loss=dropped / arrived if arrived and dropped is not None else None,
        marked=marked / departed if departed and marked is not None else None,
        queueing_p50_ms=run.figure("sojourn_p50_ms", way, most),
        queueing_p95_ms=run.figure("sojourn_p95_ms", way, most),
        done=ends and settled == 0,
    )


def _mean_rate(run: Observed, own: Sequence[TrafficItem], way: str, window: Window | None) -> float | None:
    """Mean of the tap's bins over a time; of a run whose series are gone, of its bytes over the time."""
    if window is None or window[1] <= window[0]:
        return None
    truth = run.truth(way)
    known = [] if truth is None else [s for p in own if (s := truth.throughput_bps.get(p.id)) is not None]
    if known:
        return sum(mean_rate(series, window) for series in known)
    size = _tap_sum(run, own, way, "tap_departed_bytes")
    return None if size is None else size * 8 * NS_PER_S / (window[1] - window[0])


def mean_rate(series: Series, window: Window) -> float:
    """Over the window and not over the rows: bins in which nothing passed may have none."""
    bins = max(1, round((window[1] - window[0]) / BIN_NS))
    return float(clean(series.within(window).value).sum()) / bins


def _shared_rate(run: Observed, own: Sequence[TrafficItem], way: str) -> float | None:
    if PAIR in run.key and way == "down":
        known = [run.quantity(RATE, part.id) for part in own]
        if any(value is not None for value in known):
            return sum(value for value in known if value is not None)
    of = f"{own[0].item} {way}"
    rate = shared_rate(run, of)
    return run.quantity(SHARED, of) if rate is None else rate


def shared(run: Observed) -> Iterator[str]:
    """`ITEM WAY` of what loaded a way together with others."""
    for item in items(run):
        yield from (f"{item.name} {way}" for way, got in item.ways.items() if got.shared_bps is not None)


def shared_rate(run: Observed, of: str) -> float | None:
    """The rate of an item while all that loaded a way did, in bit/s (`ITEM WAY`)."""
    name, _, way = of.rpartition(" ")
    groups = _groups(run)
    own = [part for part in groups[name] if not is_background(part)]
    return _mean_rate(run, own, way, _shared_window(run, way, groups))


# ---- when --------------------------------------------------------------------------------------------------


def _window(run: Observed, name: str, own: Sequence[TrafficItem], way: str) -> Window | None:
    """When the item loaded that way: as its tool says, else while it ran."""
    return run.windows.get((name, way)) or span(own, run.manifest)


def _shared_window(run: Observed, way: str, groups: Mapping[str, Sequence[TrafficItem]]) -> Window | None:
    """When all items that load a direction did so, without the first and the last fifth of it; None where
    there is one item, or where they were never all there."""
    loads = {}
    for name, parts in groups.items():
        own = [part for part in parts if not is_background(part)]
        if own and not all(is_probe(part) for part in own) and way in _ways(run, own):
            loads[name] = _window(run, name, own, way)
    if PAIR in run.key:
        return settled_window(run.plan)
    if len(loads) < 2 or None in loads.values():
        return None
    known = [window for window in loads.values() if window is not None]
    return _middle((max(start for start, _ in known), min(end for _, end in known)))


def _middle(window: Window | None) -> Window | None:
    """Without its first and its last fifth; None of no time."""
    if window is None or window[1] <= window[0]:
        return None
    cut = round(LEFT_OUT * (window[1] - window[0]))
    return window[0] + cut, window[1] - cut


# ---- what the item says ------------------------------------------------------------------------------------


def is_kept(name: str) -> bool:
    """Whether a shard keeps a figure: one that a tool declares, or of the tap."""
    return name in OF_TAP or name in _declared()


Declared = dict[str, tuple[int, reading.Reading | reading.Figure]]


@cache
def _declared() -> Declared:
    """What every figure of the tools that come with narrows means, and its place in its tool's list."""
    return {
        name: (place, meaning)
        for part in registry.parts(registry.READINGS)
        for place, (name, meaning) in enumerate(part.FIGURES.items())
    }


def _is_of(whose: Whose, item: str) -> bool:
    """Whether an item says so itself, of all that it is or of a part of it: of no single flow."""
    return whose.item == item and whose.hop is None and whose.flow is None


def _figures(run: Observed, item: str) -> tuple[Measure, ...]:
    declared = _declared() | _of_own_tools(run)
    figures = []
    for (name, way, whose), value in run.figures.items():
        if not _is_of(whose, item):
            continue
        place, meaning = declared.get(name, (len(declared), None))
        words = (meaning.words if meaning is not None else "") or name.replace("_", " ")
        better = None if meaning is None else meaning.better
        reads = meaning.quantity if isinstance(meaning, reading.Reading) else None
        unit = run.units.get(name) or unit_of_name(name)
        is_rate = reads in (reading.THROUGHPUT, reading.RPM)
        one = Measure(
            quantity=name, value=value, unit=unit, words=words, better=better, reads=reads,
            statistic=None if meaning is None or is_rate else meaning.statistic,
            definition="" if meaning is None else meaning.definition,
            layer=meaning.layer if isinstance(meaning, reading.Reading) else reading.PAYLOAD,
            item=item, part=whose.part, direction=way,
        )  # fmt: skip
        figures.append((place, one))
    return tuple(each for _, each in sorted(figures, key=lambda each: (each[0], each[1].direction or "")))


def _of_the_run(run: Observed, word: str, name: str) -> Iterator[Measure]:
    """The numbers of the run that its tool shows as its own."""
    declared: Mapping[str, reading.Figure] = registry.function(word, registry.READINGS, "OF_THE_RUN") or {}
    for quantity, meaning in declared.items():
        value = run.quantity(quantity, name)
        if value is not None:
            unit = run.units.get(quantity) or unit_of_name(quantity)
            yield Measure(
                quantity=quantity, value=value, unit=unit, words=meaning.words, better=meaning.better,
                item=name, direction="down",
            )  # fmt: skip


def _of_own_tools(run: Observed) -> Declared:
    """What the figures of a person's own tools mean, by the copies of their folders that the run keeps."""
    return {
        name: (place, meaning)
        for folder in _own_readings(run)
        for place, (name, meaning) in enumerate(getattr(folder, "FIGURES", {}).items())
        if isinstance(meaning, reading.Reading | reading.Figure)
    }


def series(run: Observed) -> dict[str, reading.Series]:
    """What the series over time are that tools declare, those of a person's own too."""
    parts = (reading, *registry.parts(registry.READINGS), *_own_readings(run))
    every = (each for part in parts for each in getattr(part, "SERIES", {}).items())
    return {name: meaning for name, meaning in every if isinstance(meaning, reading.Series)}


def _own_readings(run: Observed) -> Iterator[ModuleType]:
    """The `readings.py` of a person's own tools. One that cannot be read gives no words; `narrows calibrate`
    says why."""
    for tool in run.plan.composites:
        if isinstance(tool, OwnTool) and run.folder is not None:
            with contextlib.suppress(NarrowsError):
                module = own_tools.kept(tool, run.folder).part(registry.READINGS)
                if module is not None:
                    yield module
