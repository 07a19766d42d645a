"""What criteria read of a run: rates, delays and losses in a stretch of time, where packets wait, and what a
sender says of itself. Each gives a function from a run to a number; None: not measured.

Times are in s of the run's clock. Nothing is averaged over runs here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from narrows.judging.items import Read
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import EMPTY, Observed, Series, is_background
from narrows.store import parquet
from narrows.units import NS_PER_S

FRAME_BYTES, MSS_BYTES = 1514, 1448
"""A full packet as the shaper counts it, and its payload."""
BIN_S = 0.01
FLOW = "flow"
DISORDER = 1
"""TCP_CA_Disorder: the states above it have reduced the window."""
_SENDER: dict[str, Sequence[tuple[str, float]]] = {
    "cwnd": (("tcp_info.snd_cwnd", 1.0), ("tcp_info.snd_cwnd_bytes", 1 / MSS_BYTES)),
    "ssthresh": (("tcp_info.snd_ssthresh", 1.0), ("tcp_info.snd_ssthresh_bytes", 1 / MSS_BYTES)),
    "pacing": (("tcp_info.pacing_rate", 8.0),),
    "packets_out": (("tcp_info.unacked", 1.0), ("tcp_info.bytes_in_flight", 1 / MSS_BYTES)),
    "sacked": (("tcp_info.sacked", 1.0),),
    "lost": (("tcp_info.lost", 1.0),),
    "retrans": (("tcp_info.retrans", 1.0),),
    "rtt": (("tcp_info.rtt", 1e-6),),
    "state": (("tcp_info.ca_state", 1.0),),
}
"""By name what senders say, TCP's first, each with its factor: packets, bit/s, s."""


def _window(since: float, until: float) -> tuple[int, int]:
    return int(since * NS_PER_S), int(until * NS_PER_S)


def sender(run: Observed, name: str, item: str = FLOW) -> Series:
    """A series of the sender of an item's first flow; empty where it says none."""
    kept = ("sender", name, item)
    if kept not in run.kept:
        run.kept[kept] = _sender(run, name, item)
    found: Series = run.kept[kept]
    return found


def _sender(run: Observed, name: str, item: str) -> Series:
    if run.folder is None:
        return EMPTY
    rows = parquet.scan(run.folder / "samples.parquet").filter(pl.col("item").cast(pl.String) == item)
    for quantity, factor in _SENDER[name]:
        own = rows.filter(pl.col("quantity").cast(pl.String) == quantity).select(
            "t_ns", "value", *(pl.col(each).cast(pl.String) for each in ("hop", "part", "flow"))
        )
        table = own.collect()
        for hop, part in ((None, None), (None, "server"), ("tcp-server", None)):
            one = table.filter(pl.col("hop").eq_missing(hop), pl.col("part").eq_missing(part)).sort("t_ns")
            if one.height:
                first = one["flow"][0]
                one = one.filter(pl.col("flow").eq_missing(first))
                return Series(one["t_ns"].to_numpy().astype(float), one["value"].to_numpy() * factor)
    return EMPTY


def inflight(run: Observed, item: str = FLOW) -> Series:
    """Packets in flight, as tcp_packets_in_flight counts them."""
    out = sender(run, "packets_out", item)
    extra = [sender(run, name, item) for name in ("sacked", "lost", "retrans")]
    if not all(each.value.shape == out.value.shape for each in extra):
        return out
    sacked, lost, again = (each.value for each in extra)
    return Series(out.t_ns, out.value - sacked - lost + again)


def sent(item: str, since: float, until: float) -> Read:
    """Bits a second of an item that left the bottleneck."""

    def read(run: Observed) -> float | None:
        truth = run.truth("down")
        if truth is None or item not in truth.throughput_bps:
            return None
        own = truth.throughput_bps[item].within(_window(since, until))
        return float(own.value.sum()) * BIN_S / (until - since)

    return read


def share(item: str, since: float, until: float) -> Read:
    """The same as a part of what the bottleneck could carry meanwhile."""
    of = sent(item, since, until)

    def read(run: Observed) -> float | None:
        rate = of(run)
        return None if rate is None else rate / run.capacity_bps("down", _window(since, until))

    return read


def queueing_ms(quantile: float, since: float, until: float) -> Read:
    """A quantile over time of how long packets stood in the queue (medians of 10 ms)."""

    def read(run: Observed) -> float | None:
        truth = run.truth("down")
        if truth is None:
            return None
        own = truth.sojourn_p50_ms.within(_window(since, until)).value
        own = own[~np.isnan(own)]
        return float(np.quantile(own, quantile)) if own.size else None

    return read


def lost(since: float, until: float) -> Read:
    """Packets that the bottleneck dropped over those that came, of full packets."""

    def read(run: Observed) -> float | None:
        truth = run.truth("down")
        if truth is None:
            return None
        dropped = float(np.nansum(truth.drops.within(_window(since, until)).value))
        passed = (sent("", since, until)(run) or 0.0) * (until - since) / 8 / FRAME_BYTES
        return dropped / (dropped + passed) if dropped + passed else None

    return read


def jain(items: Sequence[str], since: float, until: float) -> Read:
    """Jain's index of what several items got."""

    def read(run: Observed) -> float | None:
        rates = [sent(item, since, until)(run) for item in items]
        known = [rate for rate in rates if rate is not None]
        if len(known) < len(items) or not any(known):
            return None
        return sum(known) ** 2 / (len(known) * sum(rate**2 for rate in known))

    return read


def packets_a_round(item: str, since: float, until: float, rtt_s: float) -> Read:
    """Full packets that an item sent into the bottleneck in a base RTT, on average."""
    of = sent(item, since, until)

    def read(run: Observed) -> float | None:
        rate = of(run)
        return None if rate is None else rate / 8 / FRAME_BYTES * rtt_s

    return read


def completion_s(items: Sequence[str]) -> Read:
    """The median of how long items took that end by themselves; one that did not counts to the run's end."""

    def read(run: Observed) -> float | None:
        known = run.manifest.get("items") or {}
        took = []
        for part in run.plan.traffic:
            facts = known.get(part.id) or {}
            is_meant = part.item in items and not is_background(part)
            if is_meant and facts.get("end_ns") is not None and facts.get("start_ns") is not None:
                took.append((facts["end_ns"] - facts["start_ns"]) / NS_PER_S)
        return float(np.median(took)) if took else None

    return read


def reached_s(item: str, part: float, after: float, until: float, over: float = 0.2) -> Read:
    """How long from a time on until an item has so large a part of the link over `over` s; `until` where it
    has not."""

    def read(run: Observed) -> float | None:
        truth = run.truth("down")
        if truth is None or item not in truth.throughput_bps:
            return None
        own = truth.throughput_bps[item].within(_window(after, until))
        bins = max(1, round(over / BIN_S))
        if own.value.size < bins:
            return None
        smooth = np.convolve(own.value, np.ones(bins) / bins, "valid")
        capacity = run.capacity_bps("down", _window(after, until))
        there = np.flatnonzero(smooth >= part * capacity)
        return float(there[0] * BIN_S + over) if there.size else until - after

    return read


def of_sender(
    name: str, of: Callable[[Floats], float], since: float, until: float, item: str = FLOW
) -> Read:
    """A statistic of what the sender says in a stretch of time."""

    def read(run: Observed) -> float | None:
        series = inflight(run, item) if name == "inflight" else sender(run, name, item)
        value = series.within(_window(since, until)).value
        value = value[~np.isnan(value)]
        return float(of(value)) if value.size else None

    return read


def quantile(share: float) -> Callable[[Floats], float]:
    """A quantile as a function."""
    return lambda x: float(np.quantile(x, share))


def of_tap(name: str, item: str, over: str = "") -> Read:
    """What the tap says of an item's packets where they wait, the whole run; over another of its figures."""

    def read(run: Observed) -> float | None:
        own = run.whose(item, run.bottleneck("down"))
        value = run.figure(name, "down", own)
        if not over or value is None:
            return value
        whole = run.figure(over, "down", own)
        return value / whole if whole else None

    return read


@dataclass(frozen=True)
class Epoch:
    """What a window does from one reduction to the next."""

    t_s: Floats
    """Since the reduction."""
    cwnd: Floats
    before: float
    """The greatest window in the round trip before the reduction."""
    after: float
    """The slow start threshold that it was reduced to."""
    rtt_s: float


def epochs(run: Observed, since: float = 0.0, item: str = FLOW) -> list[Epoch]:
    """Those that begin after a time and end in the run, in order. One begins where the kernel enters Recovery,
    Loss or CWR; a sender that does not say so has none."""
    limit, window, rtt, state = (sender(run, name, item) for name in ("ssthresh", "cwnd", "rtt", "state"))
    begins = np.flatnonzero(np.diff((state.value > DISORDER).astype(int)) > 0)
    at = state.t_ns[begins + 1]
    found = []
    for begin, end in itertools.pairwise(at):
        if begin < since * NS_PER_S:
            continue
        round_s = float(np.median(rtt.within((int(begin - NS_PER_S), int(begin) + 1)).value))
        before = window.within((int(begin - 2 * round_s * NS_PER_S), int(begin) + 1)).value
        own = window.within((int(begin), int(end)))
        after = limit.within((int(begin), int(begin) + 1)).value
        if before.size and own.value.size and after.size:
            t = (own.t_ns - begin) / NS_PER_S
            found.append(Epoch(t, own.value, float(before.max()), float(after[0]), round_s))
    return found
