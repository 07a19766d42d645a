"""What one run showed, gathered from the store's tables, so that figures and verdicts use the same numbers.

These are plain holders: arrays and numbers with units in their names, None or NaN where something was not
measured. `narrows.runs.gather` makes them from stored tables, `narrows.runs.archive` from a shard, tests from
made-up ones. No file is read here.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeGuard, overload

import numpy as np

from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.tail import Tail
from narrows.plan.items import Command, IcmpEcho, TcpBulk, TrafficItem, UdpProbe
from narrows.plan.model import LinkSummary, Plan
from narrows.runs.capacity import capacity_bps, goodput_of, medium_bps, shares_air, slower_hop
from narrows.runs.many_flows import ManyFlows
from narrows.store.whose import NOBODY, Name, Whose, of_part
from narrows.tools import reading, registry
from narrows.units import NS_PER_S

DIRECTIONS = ("down", "up")
Window = tuple[int, int]
ONE_PACKET_BURSTS = range(1, 2000)  # bytes: what tc sets where nobody asks for a burst
NO_LABEL = "-"
"""The label of a run on an axis that its experiment does not have."""
EXPERIMENT = "experiment"
"""The axis that tells runs of several experiments apart."""


def is_probe(item: TrafficItem) -> TypeGuard[UdpProbe | IcmpEcho]:
    """Whether an item of a plan only measures."""
    return isinstance(item, UdpProbe | IcmpEcho)


def is_background(item: TrafficItem) -> bool:
    """Whether an item is there for another: a server."""
    return isinstance(item, Command) and item.background


def span(parts: Iterable[TrafficItem], manifest: Mapping[str, Any]) -> Window | None:
    """From the first start to the last end of some items of the plan, in ns; None where that is not known."""
    known = [(manifest.get("items") or {}).get(part.id) or {} for part in parts]
    starts = [int(each["start_ns"]) for each in known if each.get("start_ns") is not None]
    ends = [int(each["end_ns"]) for each in known if each.get("end_ns") is not None]
    return (min(starts), max(ends)) if starts and ends else None


@cache
def load_of(tool: str) -> reading.Load | None:
    """What a tool declares of how it loads a link."""
    found: reading.Load | None = registry.function(tool, registry.READINGS, "LOAD")
    return found


@dataclass(frozen=True)
class Series:
    """Values over time in the run's clock (t = 0 is the epoch); NaN where a value was lost."""

    t_ns: Floats
    value: Floats

    def within(self, window: tuple[int, int] | None) -> "Series":
        """The part with window[0] <= t < window[1]; all of it for None."""
        if window is None:
            return self
        inside = (self.t_ns >= window[0]) & (self.t_ns < window[1])
        return Series(self.t_ns[inside], self.value[inside])

    @property
    def t_s(self) -> Floats:
        return self.t_ns / NS_PER_S


EMPTY = Series(np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Probe:
    """An isochronous probe: round-trip times in the order sent, NaN where lost."""

    whose: Whose
    interval_ms: float
    rtt_ms: Series


@dataclass(frozen=True)
class QueueTruth:
    """What the tap saw at one hop in one direction.

    `throughput_bps` maps a traffic item's id ("" is all traffic) to its 10 ms bins. Sojourn is a histogram of
    all departed packets (upper edge of each bucket, packets in it) and quantiles per 10 ms over time.
    """

    hop: str
    direction: str
    throughput_bps: Mapping[str, Series]
    sojourn_ms: Floats
    sojourn_packets: Floats
    sojourn_p50_ms: Series
    sojourn_p99_ms: Series
    drops: Series
    """Packets dropped in each 10 ms."""
    departed_packets: float | None
    dropped_packets: float | None
    marked_packets: float | None
    sojourn_of: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    """The same histogram of each traffic item's own packets: upper edges in ms, packets."""


class Quantities(Protocol):
    """Single numbers of a run and what is kept of its distributions, asked for by name."""

    def value(self, name: str, of: str) -> float | None:
        """A number; None if it was not measured."""

    def tail(self, name: str, of: str) -> Tail | None:
        """What is kept of a distribution; None if it was not measured."""


class _NoQuantities:
    def value(self, name: str, of: str) -> float | None:
        return None

    def tail(self, name: str, of: str) -> Tail | None:
        return None


NO_QUANTITIES = _NoQuantities()


class _WhenAsked:
    """A plan, or what makes it when it is first asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    @overload
    def __get__(self, run: None, owner: type) -> NoReturn: ...
    @overload
    def __get__(self, run: object, owner: type) -> Plan: ...
    def __get__(self, run: object | None, owner: type) -> Plan:
        if run is None:
            raise AttributeError(self._name)  # so that the field has no default
        kept: Plan | Callable[[], Plan] = run.__dict__[self._name]
        if not isinstance(kept, Plan):
            kept = run.__dict__[self._name] = kept()
        return kept

    def __set__(self, run: object, plan: Plan | Callable[[], Plan]) -> None:
        run.__dict__[self._name] = plan


@dataclass(frozen=True)
class Observed:
    """One run: its conditions and everything it measured."""

    run_id: str
    experiment: str
    question: str
    key: Mapping[str, str]
    status: str
    error: str | None
    plan: _WhenAsked = _WhenAsked()
    manifest: Mapping[str, Any] = field(default_factory=dict)
    windows: Mapping[tuple[str, str], Window] = field(default_factory=dict)
    """When an item loaded a direction, in ns, if not all the time that it ran (`narrows.runs.windows`)."""
    rtts_ms: Mapping[str, Series] = field(default_factory=dict)
    """By direction: the round trips of the connection of the speed test (`tested`)."""
    probes: Mapping[str, Probe] = field(default_factory=dict)
    queues: Mapping[str, QueueTruth] = field(default_factory=dict)
    places: Mapping[str, Mapping[str, QueueTruth]] = field(default_factory=dict)
    """What the tap saw at each place that has one, by its hop's name ("isp", "home"), then by direction;
    `queues` is the first of them."""
    idle: tuple[int, int] | None = None
    warnings: Sequence[str] = ()
    figures: Mapping[Name, float] = field(default_factory=dict)
    """What tools and tap say of the whole run (table `metrics`)."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Unit of each of `figures`, by name; a shard keeps none."""
    folder: Path | None = None
    """Where the run's files lie; None of a shard, which has none."""
    older: Sequence[str] = ()
    """Runs of the same labels that lie beside it and do not count: of another version, kernel or agent."""
    read_many: Callable[[], ManyFlows | None] | None = None
    """Works out what many flows did; None where the run had no flow tap."""

    path_logs: Sequence[Mapping[str, Any]] | None = None
    """What the run's captures say of its path, a row for each (narrows.paths.of_runs); None: not read."""

    read_quantities: Callable[[], Quantities] | None = None
    """Gives single numbers (narrows.runs.quantities), worked out of the series or read of a shard."""

    kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was worked out of the run once and is asked for again (`narrows.runs.items`)."""

    @cached_property
    def quantities(self) -> Quantities:
        """Single numbers of the run, which a shard keeps too."""
        return NO_QUANTITIES if self.read_quantities is None else self.read_quantities()

    def quantity(self, name: str, of: str = "") -> float | None:
        """One number, by its name in `narrows.runs.quantities`, of a direction, an item, or a probe and a
        load; None if it was not measured."""
        return self.quantities.value(name, of)

    @cached_property
    def many(self) -> ManyFlows | None:
        """What many flows did, worked out when first asked for."""
        return None if self.read_many is None else self.read_many()

    @property
    def ok(self) -> bool:
        """Only such runs' numbers count."""
        return self.status == "ok"

    def figure(self, name: str, direction: str | None = "down", whose: Whose = NOBODY) -> float | None:
        """One of `figures`; None if it was not measured."""
        return self.figures.get(Name(name, direction, whose))

    def whose(self, item: str | None = None, hop: str | None = None) -> Whose:
        """What is of an item, or of a part of the plan, by its id; None: of all that passed a hop."""
        part = next((part for part in self.plan.traffic if part.id == item), None)
        return Whose(item, None, hop) if part is None else of_part(part, hop)

    @property
    def kernel_config(self) -> str:
        """What a kernel with configuration of its own was given (`HZ=100`), which the store puts among the
        labels; empty: our kernel."""
        return self.key.get("kernel_config", "")

    @property
    def link(self) -> LinkSummary:
        """The plan's description of the bottleneck."""
        return self.plan.link

    @cached_property
    def tested(self) -> str | None:
        """The first item whose tool measures its own connection's round trips, if there is one."""
        commands = (item for item in self.plan.traffic if isinstance(item, Command))
        return next((item.id for item in commands if (load := load_of(item.tool)) and load.rtt), None)

    def configured_bps(self, direction: str) -> int | None:
        """Configured rate of the bottleneck, of a medium its mean; None where nothing limits."""
        rate = self.link.rate_down_bps if direction == "down" else self.link.rate_up_bps
        return medium_bps(self.plan, direction) if rate is None else rate

    def divided_bps(self, direction: str) -> int | None:
        """The same for whoever shares that direction; None also where the other way takes of it, so that it
        is not known."""
        return None if shares_air(self.plan) else self.configured_bps(direction)

    def rate_bps(self, direction: str = "down") -> float:
        """Configured rate of the bottleneck; ValueError where there is none."""
        rate = self.configured_bps(direction)
        if rate is None:
            raise ValueError(f"run {self.run_id}: no rate {direction}, so nothing to compare with")
        return float(rate)

    def capacity_bps(self, direction: str, window: tuple[int, int] | None) -> float:
        """What the bottleneck carried in a time, on average; the same as `rate_bps` unless its rate moves."""
        return capacity_bps(self.plan, direction, window) or self.rate_bps(direction)

    def possible_bps(self, direction: str, window: tuple[int, int] | None) -> float:
        """The TCP payload that full packets could have had in a time, on average, by what the bottleneck's
        shaper counts of them."""
        return goodput_of(self.plan, direction, self.capacity_bps(direction, window))

    def bottleneck(self, direction: str) -> str:
        """The hop where packets wait: of a Home the slower of its two places; empty where there is no hop."""
        return slower_hop(self.plan, direction) or (self.plan.hops[0].hop if self.plan.hops else "")

    def truth(self, direction: str) -> QueueTruth | None:
        """What the tap saw there; None where it saw nothing."""
        return self.places.get(self.bottleneck(direction), self.queues).get(direction)

    @property
    def queue(self) -> str:
        """Kind of the bottleneck's qdisc."""
        return self.link.queue

    def probe(self) -> Probe | None:
        """The first isochronous probe by name, or None."""
        return self.probes[min(self.probes)] if self.probes else None


def label(run: Observed, axis: str) -> str:
    """The run's label on an axis. Where its experiment has no such axis, the neutral label if that is what
    the plan says (no burst shaping, no cross traffic, exact timers), else `NO_LABEL`."""
    if axis in run.key:
        return run.key[axis]
    if axis == EXPERIMENT:
        return run.experiment
    if axis == "cross" and not any(_loads(item, run.tested) for item in run.plan.traffic):
        return "no"
    if axis == "burst" and run.link.down.burst_bytes in (None, *ONE_PACKET_BURSTS):
        return "off"
    if axis == "timer_latency" and run.plan.machine.timer_latency is None:
        return "off"
    return NO_LABEL


def _loads(item: TrafficItem, tested: str | None) -> bool:
    if isinstance(item, TcpBulk):
        return True
    return isinstance(item, Command) and not item.background and item.id != tested


def select(runs: Iterable[Observed], **labels: str | Sequence[str]) -> list[Observed]:
    """Good runs whose key has these labels (a sequence means any of them)."""
    wanted = {a: (v,) if isinstance(v, str) else tuple(v) for a, v in labels.items()}
    return [r for r in runs if r.ok and all(label(r, a) in v for a, v in wanted.items())]


def pooled(arrays: Iterable[Floats]) -> Floats:
    """All values of several arrays as one."""
    parts = [a for a in arrays if a.size]
    return np.concatenate(parts) if parts else np.empty(0)
