"""Scores one run: every applicable metric on every series of it, and on what the queue really did.

The rows (schema SCORE) are of one load direction each ("down", "up"; a tool that loads both ways at once has
rows in both), or of the whole test (direction NULL: AIM scores, RRUL's summary). `source` says who measured
and `series` what: a probe's round trips, the smoothed RTT of the tool's own connections, the sojourn of the
tool's own packets, of a probe's packets, of the cross traffic's.
Rows of source "truth" are what readings are held against:

- `queue_delay_*` of series "own", "third party": sojourn in the loaded direction (that quantile) plus the
  median sojourn in the other direction, of that item's packets; the other direction hardly queues unless
  something loads it. Where `link.at` changes the base RTT, each packet's delay has what the base RTT was
  longer then than at the start (where calibration measured it). There is none where the line is slower than
  the shapers: packets then wait where no tap is;
- `capacity_left` of series "cross traffic": what the rate while the tool loaded, and the shaper's bucket when
  it began, leave after what all others sent through the bottleneck, as TCP payload in full packets by what
  the shaper counts of them; never below 0.

Pure: tables in, table out. A direction that the tool did not load has no rows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from narrows.headers import ETHERNET_HEADER_BYTES, TCP_IPV4_HEADERS_BYTES, UDP_IPV4_HEADERS_BYTES
from narrows.metrics.statistics.arrays import Floats, ascends
from narrows.plan.bottlenecks import line_limits
from narrows.plan.model import Plan
from narrows.runs.capacity import (
    base_delay_ns,
    could_carry,
    counted_bytes,
    goodput_of,
    rate_steps,
    shares_air,
)
from narrows.runs.observed import DIRECTIONS, is_probe
from narrows.scoring.any_latency import Delays, Value, latency_values, rpm_values
from narrows.scoring.any_throughput import request_values, throughput_values
from narrows.scoring.any_whole import aim_values, path_values, rrul_values, stability_values
from narrows.scoring.scored_run import (
    DATA_BYTES,
    Integers,
    Load,
    Packets,
    load_spans,
    meant,
    own_items,
    packets,
)
from narrows.store.whose import with_labels
from narrows.tools.reading import CROSS, OWN, PARTIES, THIRD

SCORE: dict[str, Any] = {
    "run_id": pl.String(),
    "source": pl.String(),
    "series": pl.String(),
    "direction": pl.String(),
    "metric": pl.String(),
    "version": pl.String(),
    "value": pl.Float64(),
    "unit": pl.String(),
    "n": pl.Int64(),
    "variant": pl.String(),
}
NS_OF = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
TRUTH = "truth"
A_DELAY = ("rtt", "owd", "latency", "delay", "loaded_ping")
NOT_A_DELAY = ("min_rtt", "rttvar", "rcv_rtt", "elapsed", "duration", "delay_variation")
SOJOURN_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


def score(
    run_id: str,
    plan: Plan,
    samples: pl.DataFrame,
    queue: pl.DataFrame,
    flows: pl.DataFrame,
    test: str,
    unanswered: Collection[str] = (),
) -> pl.DataFrame:
    """All rows of one run whose tool under test is the traffic item `test`. `queue` needs departures only.
    `unanswered`: probes of which some were still on their way when the run ended, so that a missing answer is
    no loss."""
    run = _Run(plan, samples, queue, flows, test, unanswered)
    rows: list[tuple[Any, ...]] = []
    for direction, load in run.loads.items():
        for source, series, value in run.values(direction, load):
            if value.value is not None and not np.isfinite(value.value):
                raise ValueError(f"{value.metric} of {source} {series} in run {run_id} is {value.value}")
            rows.append((run_id, source, series, direction, *astuple(value)))
    for source, series, value in run.whole():
        rows.append((run_id, source, series, None, *astuple(value)))
    return pl.DataFrame(rows, schema=SCORE, orient="row")


@dataclass(frozen=True)
class _Sent:
    """Packets: times, TCP or UDP payload, IP bytes, number of the flow."""

    t_ns: Floats
    payload: Floats
    ip: Floats
    flow: Floats


class _Run:
    """The tables of one run, in the form that metrics take."""

    def __init__(
        self,
        plan: Plan,
        samples: pl.DataFrame,
        queue: pl.DataFrame,
        flows: pl.DataFrame,
        test: str,
        unanswered: Collection[str],
    ) -> None:
        self.plan, self.flows, self.test, self.unanswered = plan, flows, test, unanswered
        self.own = own_items(plan, test)
        self.intervals = {i.id: i.interval_ns for i in plan.traffic if is_probe(i)}
        self.probes = [item for item in self.intervals if item not in self.own]
        self.samples = samples
        self.packets = packets(meant(plan, queue), flows, self._party)
        own: dict[str, tuple[Integers, Integers]] = {}
        for way in DIRECTIONS:
            mine = self._of(way, OWN)
            if mine:
                own[way] = _joined([m.t_ns for m in mine]), _joined([m.bytes for m in mine])
        self.loads = load_spans(own, {way: rate_steps(plan, way) for way in DIRECTIONS})
        self._known: dict[str, _Sent] = {}
        self.begins = min((load.start_ns for load in self.loads.values()), default=None)

    def _party(self, item: str | None) -> str:
        return OWN if item in self.own else THIRD if item in self.probes else CROSS

    def _of(self, direction: str, *parties: str) -> list[Packets]:
        return [
            rows for (_, way, party), rows in self.packets.items() if way == direction and party in parties
        ]

    def values(self, direction: str, load: Load) -> Iterator[tuple[str, str, Value]]:
        """Source, series and value of every metric under load in one direction."""
        collected: dict[tuple[str, str], Delays] = {}
        for source, series, delays in self._delays():
            loaded = _within(delays, load)
            collected[source, series] = loaded
            for value in latency_values(loaded, _before(delays, self.begins)):
                yield source, series, value
        yield from self._paired(collected, direction, load)
        yield from self._queue(direction, load)
        yield from self._truth(direction, load)

    def whole(self) -> Iterator[tuple[str, str, Value]]:
        """Figures of both directions together; none where only one was loaded."""
        if len(self.loads) < len(DIRECTIONS):
            return
        down, up = (self.loads[way] for way in DIRECTIONS)
        both = max(down.window[0], up.window[0]), min(down.window[1], up.window[1])
        to_and_fro = len(down.spans) + len(up.spans) > len(DIRECTIONS)
        trips = {
            source: d for source, series, d in self._delays() if source in self.probes and series == "rtt"
        }
        sent = self._sent("down")
        t_ns, payload = down.of(sent.t_ns, sent.payload)
        # the largest blocks of which there were two: Cloudflare's requests grow while they are fast
        rate = [v.value for v in request_values(t_ns, payload)][-1:] or [None]
        for probe, trip in trips.items():
            loaded = [_within(trip, load) for load in (down, up)]
            lost = np.concatenate([np.isnan(way.delay_ns) for way in loaded])
            share = float(lost.mean()) if lost.size and trip.is_loss_known else None
            for value in aim_values(_before(trip, self.begins), loaded[0], loaded[1], rate[0], share):
                yield probe, "rtt", value
            for value in path_values(
                _before(trip, self.begins),
                loaded[0],
                loaded[1],
                (self._mean_bps("down"), self._mean_bps("up")),
                share,
            ):
                yield probe, "rtt", value
        if both[1] > both[0] and not to_and_fro:
            for value in rrul_values(self._flows(), trips, both):
                yield f"bottleneck/{OWN}", "payload and rtt", value

    def _mean_bps(self, direction: str) -> float | None:
        """What the tool's own packets carried while the direction was loaded."""
        sent, load = self._sent(direction), self.loads[direction]
        t_ns, payload = load.of(sent.t_ns, sent.payload)
        start, stop = load.window
        return float(payload.sum()) * 8e9 / (stop - start) if t_ns.size and stop > start else None

    def _sent(self, direction: str) -> _Sent:
        """The tool's own packets that left the bottleneck this way, in order of time."""
        if direction not in self._known:
            parts = [_sent(rows) for rows in self._of(direction, OWN)]
            columns = [_joined(column) for column in zip(*parts, strict=True)] or [np.zeros(0)] * 4
            if not ascends(columns[0]):  # of several hops
                order = np.argsort(columns[0], kind="stable")
                columns = [column[order] for column in columns]
            self._known[direction] = _Sent(*columns)
        return self._known[direction]

    def _flows(self) -> dict[tuple[str, str], tuple[Floats, Floats]]:
        """Packets of each of the tool's own flows that carries data."""
        flows = {}
        for way in DIRECTIONS:
            sent = self._sent(way)
            for flow in np.unique(sent.flow[sent.payload >= DATA_BYTES]):
                mine = sent.flow == flow
                flows[way, f"{flow:.0f}"] = sent.t_ns[mine], sent.payload[mine]
        return flows

    def _delays(self) -> Iterator[tuple[str, str, Delays]]:
        """Round trips and one-way delays: of the probes, of the tool itself, of its connections' TCP_INFO."""
        times = self.samples.filter(pl.col("unit").cast(pl.String).is_in(list(NS_OF)))
        known = with_labels(times.rename({"flow": "socket"}))
        known = known.with_columns(source=pl.coalesce("hop", "whose"))
        name = pl.col("quantity")
        is_delay = name.str.contains("|".join(A_DELAY)) & ~name.str.contains("|".join(NOT_A_DELAY))
        told = [*self.own, *self.probes]
        mine = pl.col("hop").is_null() & (pl.col("item").is_in(told) | pl.col("part").is_in(told))
        labels = self.flows.filter(pl.col("item").cast(pl.String).is_in(self.own))["label"].unique().to_list()
        chosen = known.filter(is_delay & (mine | ((name == "tcp_info.rtt") & pl.col("socket").is_in(labels))))
        for key, rows in chosen.group_by("source", "quantity", "direction", "unit", maintain_order=True):
            source, series, way, unit = (None if part is None else str(part) for part in key)
            rows = rows.sort("t_ns")
            ns = rows["value"].cast(pl.Float64).to_numpy() * NS_OF[str(unit)]
            if series == "tcp_info.rtt":
                ns = np.where(ns > 0, ns, np.nan)  # the kernel's 0 means: no sample yet
            interval = self.intervals.get(str(source))
            shown = series if way is None or source not in self.intervals else f"{series}_{way}"
            t_ns = rows["t_ns"].to_numpy().astype(np.float64)
            yield str(source), str(shown), Delays(t_ns, ns, interval, str(source) not in self.unanswered)

    def _paired(
        self, collected: Mapping[tuple[str, str], Delays], direction: str, load: Load
    ) -> Iterator[tuple[str, str, Value]]:
        """RPM of a third party's round trips as foreign and of the tool's own connections as self."""
        sent = self._sent(direction)
        t_ns, payload = load.of(sent.t_ns, sent.payload)
        own = {
            k: d
            for k, d in collected.items()
            if k[0] not in self.probes and "rtt" in k[1] and d.t_ns.size > 1
        }
        for probe in self.probes:
            foreign = collected.get((probe, "rtt"))
            if foreign is None:
                continue
            for (source, series), delays in own.items():
                stable = stability_values(t_ns, payload, foreign, delays, load.window)
                for value in (*rpm_values(foreign, delays), *stable):
                    yield f"{probe} and {source}", f"foreign rtt, self {series}", value

    def _queue(self, direction: str, load: Load) -> Iterator[tuple[str, str, Value]]:
        """The same metrics on what the tap saw: sojourn per party, throughput of the tool's own packets."""
        for (hop, way, party), rows in self.packets.items():
            arrived = (rows.t_ns - rows.sojourn_ns).astype(np.float64)
            sojourn = rows.sojourn_ns.astype(np.float64)
            if not ascends(arrived):
                order = np.argsort(arrived, kind="stable")
                arrived, sojourn = arrived[order], sojourn[order]
            delays = Delays(arrived, sojourn)
            idle = _before(delays, self.begins)
            for value in latency_values(_within(delays, load), idle):
                if value.metric not in ("rpm", "latency_shown_min"):  # of a queue alone they mean nothing
                    yield f"{hop}/{party}", f"sojourn_{way}", value
        sent = self._sent(direction)
        t_ns, payload, ip, flow = load.of(sent.t_ns, sent.payload, sent.ip, sent.flow)
        for value in throughput_values(t_ns, payload, ip, flow, load.window):
            yield f"bottleneck/{OWN}", "payload", value

    def _waits_unseen(self, direction: str) -> bool:
        """Whether packets waited where no tap is, in a direction that was loaded."""
        other = DIRECTIONS[1 - DIRECTIONS.index(direction)]
        return line_limits(self.plan, direction) or (other in self.loads and line_limits(self.plan, other))

    def _truth(self, direction: str, load: Load) -> Iterator[tuple[str, str, Value]]:
        for party in () if self._waits_unseen(direction) else PARTIES:
            forth = self._sojourns_ms(party, direction, load, above=True)
            back = self._sojourns_ms(party, DIRECTIONS[1 - DIRECTIONS.index(direction)], load)
            if forth.size < 2:
                continue
            other = float(np.median(back)) if back.size else 0.0
            version = "narrows: tap, loaded direction + median of the other"
            quantiles = np.quantile(forth, list(SOJOURN_QUANTILES.values()))
            for name, at in zip(SOJOURN_QUANTILES, quantiles, strict=True):
                yield (
                    TRUTH,
                    party,
                    Value(f"queue_delay_{name}", version, float(at) + other, "ms", int(forth.size)),
                )
            yield (
                TRUTH,
                party,
                Value("queue_delay_mean", version, float(forth.mean()) + other, "ms", int(forth.size)),
            )
        yield TRUTH, CROSS, self._capacity_left(direction, load)
        # Bytes of the whole test, both ways and before and after the window too: what the user pays for it.
        spent = [rows.bytes for (_, _, party), rows in self.packets.items() if party == OWN]
        count, total = sum(part.size for part in spent), float(sum(part.sum() for part in spent))
        version = "narrows: tap, both directions, whole test"
        yield TRUTH, OWN, Value("cost_bytes", version, total, "bytes", count)

    def _sojourns_ms(self, party: str, direction: str, load: Load, *, above: bool = False) -> Floats:
        """Delays of a party's packets; `above`: with what the base RTT was longer then than at the start."""
        parts = []
        for rows in self._of(direction, party):
            delay = rows.sojourn_ns + base_delay_ns(self.plan, rows.t_ns) if above else rows.sojourn_ns
            parts.append(load.those(rows.t_ns, delay) / 1e6)
        return _joined(parts) if parts else np.zeros(0)

    def _capacity_left(self, direction: str, load: Load) -> Value:
        version = "narrows: rate and bucket - all others' packets as the shaper counts them, as TCP payload"
        if shares_air(self.plan):
            version = "not known: what the other way sends takes of the same air"
        every = self._of(direction, *PARTIES)
        t_ns = _joined([rows.t_ns for rows in every]) if every else np.zeros(0, dtype=np.int64)
        size = _joined([rows.bytes for rows in every]) if every else t_ns
        order = np.argsort(t_ns, kind="stable")
        could = could_carry(
            self.plan, direction, load.spans, t_ns[order].astype(np.float64),
            counted_bytes(self.plan, direction, size[order]),
        )  # fmt: skip
        if could is None or not could.bits:  # nothing shapes, the ways share the air, or an outage throughout
            return Value("capacity_left", version, None, "bit/s", 0)
        others = [load.those(rows.t_ns, rows.bytes) for rows in self._of(direction, THIRD, CROSS)]
        taken = 8.0 * float(sum(counted_bytes(self.plan, direction, part).sum() for part in others))
        seconds = (load.window[1] - load.window[0]) / 1e9
        left = goodput_of(self.plan, direction, could.bits / seconds) * max(0.0, 1.0 - taken / could.bits)
        return Value("capacity_left", version, left, "bit/s", sum(part.size for part in others))


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """One after the other; a single one as it is: of ten million packets a copy is felt."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _sent(rows: Packets) -> tuple[Floats, Floats, Floats, Floats]:
    """Times, payload, IP bytes and flows."""
    headers = np.where(rows.tcp, float(TCP_IPV4_HEADERS_BYTES), float(UDP_IPV4_HEADERS_BYTES))
    ip = rows.bytes.astype(np.float64) - ETHERNET_HEADER_BYTES
    return rows.t_ns.astype(np.float64), np.maximum(ip - headers, 0.0), ip, rows.flow.astype(np.float64)


def _within(delays: Delays, load: Load) -> Delays:
    t_ns, delay_ns = load.of(delays.t_ns, delays.delay_ns)
    return Delays(t_ns, delay_ns, delays.interval_ns, delays.is_loss_known)


def _before(delays: Delays, begins: int | None) -> Delays | None:
    """What the same observer saw before the tool began; None where nothing was seen."""
    if begins is None:
        return None
    first, last = np.searchsorted(delays.t_ns, [0, begins])
    if last - first < 2:
        return None
    return Delays(delays.t_ns[first:last], delays.delay_ns[first:last], delays.interval_ns)
