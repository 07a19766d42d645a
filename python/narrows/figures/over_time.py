"""All that one run says over time, as panels of one time axis: data alone, which pages draw.

Each item's rate, the queue's delay and length, drops and marks, the state of TCP flows, and every series that
an item says of itself (a player's buffer and rung, a call's bitrate and lines, a probe's round trips). Which
panels there are follows from the series that are stored, never from which tool it is. A series is thinned to
the number of stretches asked for (`metrics.statistics.thinned`); a window short enough is drawn from single
packets, where the tap has them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.comparing.items import names
from narrows.figures.style import DIRECTION, item_places
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.thinned import Thinned, counted, thinned
from narrows.runs.items import items
from narrows.runs.items import series as declared_series
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.store import parquet
from narrows.store.whose import Name, Whose
from narrows.tools.reading import Series
from narrows.units import NS_PER_MS, NS_PER_S

STRETCHES = 600
"""About as many as a screen's columns of pixels can tell apart, two each."""
PACKETS_MOST = 60_000
"""Rows of the queue log that a window may have to be drawn packet by packet."""
LINES_MOST = 12
"""In a panel, those with the largest values."""
FLOWS_MOST = 6
TCP_MSS_BYTES = 1448
"""Of a socket that does not say its own."""
LITTLE = 0.01
"""Of what the first of them moved; a flow with less is not shown."""
READINGS_KEPT = 8
"""Runs whose series are kept, for the next window of them."""
Span = tuple[int, int]


@dataclass(frozen=True)
class Line:
    """One series of a panel. `item` is its place among the run's items, None: no item's."""

    name: str
    item: int | None
    data: Thinned
    style: str = "line"
    """line, step, bars or points."""


@dataclass(frozen=True)
class Panel:
    """What has one unit. `key` tells it apart, also in another run."""

    key: str
    title: str
    unit: str
    lines: tuple[Line, ...]
    note: str = ""
    folded: bool = False
    """Shown only to who asks for it: it says nothing, or nothing more."""


@dataclass(frozen=True)
class OverTime:
    """The panels of a run in a span of time."""

    span_ns: Span
    whole_ns: Span
    items: tuple[str, ...]
    panels: tuple[Panel, ...]
    colours: tuple[int, ...] = ()
    """The place of each item among the colours of items (`narrows.figures.style`)."""


def over_time(run: Observed, window_ns: Span | None = None, stretches: int = STRETCHES) -> OverTime | None:
    """None of a run without series: one of a shard, or one that does not count."""
    if run.folder is None or not run.ok or not (run.folder / "samples.parquet").is_file():
        return None
    file = run.folder / "samples.parquet"
    series = _read(file, file.stat().st_mtime_ns)
    whole = (0, int(series.last_ns) + 1)
    if whole[1] <= 1:
        return None
    span = whole if window_ns is None else (max(whole[0], window_ns[0]), min(whole[1], window_ns[1]))
    if span[0] >= span[1]:
        span = whole
    one = _Run(run, series, span, stretches)
    panels = tuple(panel for panel in one.panels() if panel.lines)
    return OverTime(span, whole, one.called, panels, one.colours)


_OWN_UNITS = {"ns": (1e-6, "ms"), "us": (1e-3, "ms"), "bit/s": (1e-6, "Mbit/s"), "bytes/s": (8e-6, "Mbit/s")}
_SENDERS = (
    ("cwnd", "Congestion window", "kB", (("snd_cwnd_bytes", 1e-3), ("snd_cwnd", "mss"))),
    ("flight", "In flight", "kB", (("bytes_in_flight", 1e-3), ("unacked", "mss"))),
    ("rtt", "Smoothed RTT", "ms", (("rtt", 1e-3),)),
    ("pacing_rate", "Pacing rate", "Mbit/s", (("pacing_rate", 8e-6),)),
)
"""Panels of what senders say, QUIC's beside TCP's: key, title, unit, and the series that it may be made of,
each with its factor; `mss`: in packets, as the kernel counts."""
_OF_SENDERS = {field for *_, fields in _SENDERS for field, _ in fields} | {"snd_mss"}
_DELAYS = (("sojourn_p50", "median"), ("sojourn_p99", "99th percentile"), ("sojourn_mean", "mean"),
           ("sojourn_max", "greatest"))  # fmt: skip
_LENGTHS = (("backlog_max_packets", "longest"), ("backlog_mean_packets", "mean"))
_COUNTS = (("drop", "drops", "dropped"), ("mark", "marks", "marked"))
_MOVED = ("tcp_info.bytes_acked", "tcp_info.data_segs_out")


@dataclass(frozen=True)
class _Values:
    """A series in order of time: seconds and values, a lost one as NaN."""

    t: Floats
    value: Floats
    unit: str


@dataclass(frozen=True)
class _Series:
    """All series of a run that panels can be made of: their name, direction, and whose they are."""

    by: dict[Name, _Values]
    moved: dict[Whose, float]
    """What each socket sent."""
    last_ns: float


@lru_cache(maxsize=READINGS_KEPT)
def _read(file: Path, written_ns: int) -> _Series:
    """The table of samples, without the fields of TCP_INFO that no panel shows. It is split once: asking a
    table for one series after another takes ten times as long. `written_ns` is for the cache."""
    rows = parquet.read(file)
    wanted = [name for name in rows["quantity"].unique().cast(pl.String) if _is_wanted(name)]
    rows = rows.filter(pl.col("quantity").is_in(wanted))
    by: dict[Name, _Values] = {}
    moved: dict[Whose, float] = {}
    last = 0.0
    columns = ("quantity", "direction", "unit", *Whose._fields)
    for part in rows.partition_by(*columns, maintain_order=True):
        name, way, unit, *of = (
            None if (text := part[column][0]) is None else str(text) for column in columns
        )
        whose = Whose(*of)
        t = part["t_ns"].cast(pl.Float64).to_numpy()
        value = part["value"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        if np.any(np.diff(t) < 0):
            order = np.argsort(t, kind="stable")
            t, value = t[order], value[order]
        last = max(last, float(t[-1]))
        if name in _MOVED:
            moved[whose] = float(np.nanmax(value))
        else:
            by[Name(name or "", way, whose)] = _Values(t / NS_PER_S, value, unit or "")
    return _Series(by, moved, last)


def _is_wanted(name: str) -> bool:
    if name in _MOVED or not name.startswith("tcp_info."):
        return not name.startswith(("bbr_info.", "app_info."))
    return name.removeprefix("tcp_info.") in _OF_SENDERS


@dataclass(frozen=True)
class _Log:
    """Events at the bottleneck in one direction, in a window."""

    t: Floats
    event: NDArray[np.str_]
    item: NDArray[np.int64]
    """Place of the packet's item; -1 for none."""
    waiting: Floats
    sojourn_ms: Floats


class _Run:
    """One run in one window."""

    def __init__(self, run: Observed, series: _Series, span: Span, stretches: int) -> None:
        assert run.folder is not None
        self.run, self.folder, self.series = run, run.folder, series
        self.span, self.stretches = span, stretches
        self.seconds = (span[0] / NS_PER_S, span[1] / NS_PER_S)
        every = items(run)
        self.called = tuple(names(run, every))
        self.colours = tuple(item_places([item.is_probe for item in every]))
        self.place = {item.name: k for k, item in enumerate(every)}
        for part in run.plan.traffic:
            if part.item in self.place:
                self.place.setdefault(part.id, self.place[part.item])
        self.loads = {way for item in every if not item.is_probe for way in item.ways}
        self.flows = self._flows()
        self.packets = self._packets()

    def panels(self) -> Iterator[Panel]:
        """In the order in which a person reads them."""
        ways = [way for way in DIRECTIONS if self.run.bottleneck(way)]
        for way in ways:
            words = f", {DIRECTION[way]}" if len(ways) > 1 else ""
            folded = bool(self.loads) and way not in self.loads
            log = self._log(way)
            yield self._rates(way, words, folded)
            yield self._delays(way, words, folded, log)
            yield self._lengths(way, words, folded, log)
            yield self._counts(way, words, log)
        yield from self._senders()
        yield from self._own()

    # ---- the bottleneck

    def _rates(self, way: str, words: str, folded: bool) -> Panel:
        hop = self.run.bottleneck(way)
        summed: dict[int, _Values] = {}
        for part, place in self.place.items():
            found = self._binned(self.run.whose(part, hop), way, "throughput")
            if found is None:
                continue
            before = summed.get(place)
            summed[place] = found[0] if before is None else _sum(before, found[0])
        lines = [self._line(self.called[k], k, summed[k], 1e-6) for k in sorted(summed)]
        whole = self._binned(Whose(hop=hop), way, "throughput")
        if not lines and whole is not None:
            lines = [self._line("all traffic", None, whole[0], 1e-6)]
        note = f"what left the bottleneck in each {whole[1]} ms" if whole else "of the bottleneck's tap"
        return Panel(f"rate_{way}", f"Rate at the bottleneck{words}", "Mbit/s", _few(lines), note, folded)

    def _delays(self, way: str, words: str, folded: bool, log: _Log | None) -> Panel:
        key, title = f"delay_{way}", f"Time in the queue{words}"
        if log is not None:
            lines = []
            left = log.event == "depart"
            for item in np.unique(log.item[left]):
                own = left & (log.item == item)
                name = self.called[item] if item >= 0 else "no item's"
                values = _Values(log.t[own], log.sojourn_ms[own], "ms")
                lines.append(self._line(name, int(item) if item >= 0 else None, values, 1.0, "points"))
            lost = log.event == "drop"
            values = _Values(log.t[lost], log.sojourn_ms[lost], "ms")
            lines.append(self._line("dropped", None, values, 1.0, "points"))
            note = "each packet when it left, dropped ones after the time that they had waited"
            return Panel(key, title, "ms", tuple(line for line in lines if line.data.t.size), note, folded)
        found = {what: self._binned(Whose(hop=self.run.bottleneck(way)), way, name) for name, what in _DELAYS}
        there = {what: each for what, each in found.items() if each is not None}
        lines = [self._line(what, None, values, 1e-6) for what, (values, _) in there.items()]
        note = f"of the packets that left in each {next(iter(there.values()))[1]} ms" if there else ""
        return Panel(key, title, "ms", tuple(lines), note, folded)

    def _lengths(self, way: str, words: str, folded: bool, log: _Log | None) -> Panel:
        key, title = f"length_{way}", f"Packets in the queue{words}"
        if log is not None:
            passed = np.isin(log.event, ("arrive", "depart"))
            values = _Values(log.t[passed], log.waiting[passed], "packets")
            line = self._line("waiting", None, values, 1.0, "step")
            return Panel(key, title, "packets", (line,), "what each packet found or left behind", folded)
        for name, what in _LENGTHS:
            found = self._binned(Whose(hop=self.run.bottleneck(way)), way, name)
            if found is not None:
                line = self._line(what, None, found[0], 1.0)
                return Panel(key, title, "packets", (line,), f"{what} of each {found[1]} ms", folded)
        return Panel(key, title, "packets", ())

    def _counts(self, way: str, words: str, log: _Log | None) -> Panel:
        found: dict[str, _Values] = {}
        wide_s = (self.seconds[1] - self.seconds[0]) / self.stretches
        for event, name, what in _COUNTS:
            if log is not None:
                at = log.t[log.event == event]
                found[what] = _Values(at, np.ones(at.size), "packets")
            elif (binned := self._binned(Whose(hop=self.run.bottleneck(way)), way, name)) is not None:
                found[what] = binned[0]
                wide_s = max(wide_s, float(binned[1]) / 1e3)
        stretches = max(1, round((self.seconds[1] - self.seconds[0]) / wide_s))
        lines = tuple(
            Line(what, None, counted(each.t, each.value, self.seconds, stretches), "bars")
            for what, each in found.items()
        )
        nothing = not any(line.data.value.any() for line in lines)
        title, note = f"Packets dropped and marked{words}", f"counted in each {_time(wide_s)}"
        return Panel(f"counts_{way}", title, "packets", lines, note, nothing)

    def _binned(self, whose: Whose, way: str, name: str) -> tuple[_Values, str] | None:
        """A series of the tap, and how many ms each value is of."""
        for own, values in self.series.by.items():
            found = re.fullmatch(rf"{name}_(\d+)ms", own.quantity)
            if found and (own.whose, own.direction) == (whose, way):
                return values, found[1]
        return None

    # ---- single packets

    def _packets(self) -> pl.DataFrame | None:
        """The queue log of this window, where it is short enough."""
        file = self.folder / "queue.parquet"
        if not self.run.plan.hops or self.run.plan.hops[0].tap != "packets" or not file.is_file():
            return None
        log = parquet.scan(file).filter(pl.col("t_ns").is_between(self.span[0], self.span[1], closed="left"))
        if log.select(pl.len()).collect().item() > PACKETS_MOST:
            return None
        columns = ("hop", "direction", "event", "t_ns", "flow", "backlog_packets", "sojourn_ns")
        return log.select(columns).collect().with_columns(pl.col("hop", "direction", "event").cast(pl.String))

    def _log(self, way: str) -> _Log | None:
        """None where packets are not drawn."""
        hop = self.run.bottleneck(way)
        if self.packets is None:
            return None
        rows = self.packets.filter(pl.col("hop") == hop, pl.col("direction") == way)
        of = {flow: item for (at, there, flow), (_, item) in self.flows.items() if (at, there) == (hop, way)}
        item = rows["flow"].replace_strict(of, default=-1, return_dtype=pl.Int64).fill_null(-1)
        return _Log(
            rows["t_ns"].cast(pl.Float64).to_numpy() / NS_PER_S,
            rows["event"].to_numpy().astype(np.str_),
            item.to_numpy(),
            rows["backlog_packets"].cast(pl.Float64).fill_null(float("nan")).to_numpy(),
            rows["sojourn_ns"].cast(pl.Float64).fill_null(float("nan")).to_numpy() / NS_PER_MS,
        )

    def _flows(self) -> dict[tuple[str, str, int], tuple[str, int]]:
        """Flows of the tap by hop, direction and number: label, and the place of their item, -1 for none."""
        file = self.folder / "flows.parquet"
        if not file.is_file():
            return {}
        rows = parquet.read(file).select("hop", "direction", "flow", "label", "item")
        return {
            (str(hop), str(way), flow): (label, self.place.get(str(item), -1))
            for hop, way, flow, label, item in rows.iter_rows()
        }

    # ---- what senders say

    def _senders(self) -> Iterator[Panel]:
        """The flows that moved most, by what their sockets said, and connections of QUIC that have a log."""
        moved = {
            name.whose: self.series.moved.get(
                name.whose, float("inf") if name.quantity.endswith("_bytes") else 0.0
            )
            for name in self.series.by
            if name.quantity in ("tcp_info.snd_cwnd", "tcp_info.snd_cwnd_bytes")
        }
        known = sorted(moved, key=lambda whose: (-moved[whose], str(whose)))
        most = max((size for size in moved.values() if size != float("inf")), default=0.0)
        chosen: dict[Whose, tuple[str, int | None]] = {}
        for whose in known:
            if len(chosen) >= FLOWS_MOST or moved[whose] < LITTLE * most:
                break
            if whose.flow is not None and any(whose.flow == other.flow for other in chosen):
                continue  # a test's own report of a socket that a sampler saw too
            item = self.place.get(whose.item or "")
            chosen[whose] = (whose.hop or "" if item is None else self.called[item], item)
        several = [name for name, _ in chosen.values()]
        for key, title, unit, fields in _SENDERS:
            lines = []
            for whose, (name, item) in chosen.items():
                port = whose.flow.split(">")[-1].rpartition(":")[2] if whose.flow else ""
                called = f"{name} {port}" if several.count(name) > 1 and port else name
                for field, scale in fields:
                    values = self._of_socket(whose, field)
                    if values is not None:
                        factor = self._mss_kb(whose) if isinstance(scale, str) else scale
                        lines.append(self._line(called, item, values, factor))
                        break
            yield Panel(f"tcp_{key}", title, unit, tuple(lines), "as the sender's socket said, or its qlog")

    def _of_socket(self, whose: Whose, field: str) -> _Values | None:
        named = (
            each for each in self.series.by if (each.whose, each.quantity) == (whose, f"tcp_info.{field}")
        )
        return next((self.series.by[each] for each in named), None)

    def _mss_kb(self, whose: Whose) -> float:
        """A packet's payload, where it is known."""
        known = self._of_socket(whose, "snd_mss")
        return float(np.nanmedian(known.value)) / 1e3 if known is not None else TCP_MSS_BYTES / 1e3

    # ---- what items say of themselves

    def _own(self) -> Iterator[Panel]:
        """Series of items by what they are of and their unit: lines of two tools share a panel where they
        mean the same."""
        found: dict[tuple[str, str], list[tuple[Line, bool]]] = {}
        declared = declared_series(self.run)
        for (series, way, whose), values in self.series.by.items():
            item = self.place.get(whose.item or "")
            if item is None or whose.hop or whose.flow or series.startswith("tcp_info."):
                continue
            meaning = declared.get(series, Series(series.replace("_", " ")))
            scale, unit = _OWN_UNITS.get(values.unit, (1.0, "" if values.unit == "1" else values.unit))
            if meaning.counts:
                unit, scale, values = "Mbit/s", 8e-6, _derived(values)
            called = self.called[item]
            ways = {of for each, of, own in self.series.by if (each, own) == (series, whose)}
            if way and len(ways) > 1:
                called += f", {DIRECTION[way]}"
            line = self._line(called, item, values, scale, "step" if meaning.steps else "line")
            found.setdefault((meaning.words, meaning.unit or unit), []).append((line, meaning.folded))
        for (words, unit), every in found.items():
            shown = _few([line for line, _ in every if line.data.t.size])
            nothing = not any(np.nan_to_num(line.data.value).any() for line in shown)
            key = f"own_{words.replace(' ', '_')}"
            folded = nothing or all(folded for _, folded in every)
            yield Panel(key, words[0].upper() + words[1:], unit, shown, "as the item itself said", folded)

    def _line(self, name: str, item: int | None, values: _Values, scale: float, style: str = "line") -> Line:
        data = thinned(values.t, values.value * scale, self.seconds, self.stretches)
        return Line(name, item, data, "line" if data.low is not None and style != "step" else style)


def _sum(one: _Values, other: _Values) -> _Values:
    """Adds up two parts of an item, in bins of one size."""
    t = np.union1d(one.t, other.t)
    value = np.zeros(t.size)
    for each in (one, other):
        value[np.searchsorted(t, each.t)] += np.nan_to_num(each.value)
    return _Values(t, value, one.unit)


def _derived(values: _Values) -> _Values:
    """Of a counter what was added per second since the value before, at the later."""
    steps = np.diff(values.t)
    rate = np.divide(np.diff(values.value), steps, out=np.full(steps.size, np.nan), where=steps > 0)
    return _Values(values.t[1:], rate, values.unit)


def _few(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Those with the largest values, in their order."""
    if len(lines) <= LINES_MOST:
        return tuple(lines)
    size = [float(np.nansum(line.data.value)) for line in lines]
    largest = set(np.argsort(size)[-LINES_MOST:].tolist())
    return tuple(line for k, line in enumerate(lines) if k in largest)


def _time(seconds: float) -> str:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
