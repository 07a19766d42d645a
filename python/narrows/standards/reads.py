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

FRAME_BYTES, MSS_BYTES, BIN_S = 1514, 1448, 0.01
"""A full packet as the shaper counts it, its payload, and what the tap adds up."""
FLOW = "flow"
DISORDER = 1
"""TCP_CA_Disorder: the states above it have reduced the window."""
_SENDER: dict[str, Sequence[tuple[str, float]]] = {
    "cwnd": (("snd_cwnd", 1.0), ("snd_cwnd_bytes", 1 / MSS_BYTES)),
    "ssthresh": (("snd_ssthresh", 1.0), ("snd_ssthresh_bytes", 1 / MSS_BYTES)),
    "out": (("unacked", 1.0), ("bytes_in_flight", 1 / MSS_BYTES)),
    "pacing": (("pacing_rate", 8.0),), "rtt": (("rtt", 1e-6),), "state": (("ca_state", 1.0),),
    **{name: ((name, 1.0),) for name in ("sacked", "lost", "retrans")},
}  # fmt: skip
"""By name what senders say (`tcp_info`), TCP's first, each with its factor: packets, bit/s, s."""


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
    rows = parquet.scan(run.folder / "samples.parquet").with_columns(
        pl.col("item", "quantity", "hop", "part", "flow").cast(pl.String)
    )
    for quantity, factor in _SENDER[name]:
        own = rows.filter(pl.col("item") == item, pl.col("quantity") == f"tcp_info.{quantity}").collect()
        for hop, part in ((None, None), (None, "server"), ("tcp-server", None)):
            one = own.filter(pl.col("hop").eq_missing(hop), pl.col("part").eq_missing(part)).sort("t_ns")
            if one.height:
                one = one.filter(pl.col("flow").eq_missing(one["flow"][0]))
                made = Series(one["t_ns"].to_numpy().astype(float), one["value"].to_numpy() * factor)
                return made if part is None else _held(made, run.manifest["items"][item]["end_ns"])
    return EMPTY


def _held(series: Series, until_ns: float) -> Series:
    """A value of qlog, which is told when it changes, at every 10 ms until the item's end; what was 0 was not
    known yet."""
    known = series.value > 0
    t, value = series.t_ns[known], series.value[known]
    grid = np.arange(t[0], until_ns, BIN_S * NS_PER_S) if t.size else np.empty(0)
    return Series(grid, value[np.searchsorted(t, grid, side="right") - 1]) if t.size else EMPTY


def inflight(run: Observed, item: str = FLOW) -> Series:
    """Packets in flight, as tcp_packets_in_flight counts them."""
    out, *more = (sender(run, name, item) for name in ("out", "sacked", "lost", "retrans"))
    if any(each.value.shape != out.value.shape for each in more):
        return out
    return Series(out.t_ns, out.value - more[0].value - more[1].value + more[2].value)


def of_sender(name: str, of: Callable[[Floats], float], since: float, until: float, item: str = FLOW) -> Read:
    """A statistic of what the sender says in a stretch of time."""

    def read(run: Observed) -> float | None:
        value = sender(run, name, item).within(_window(since, until)).value
        value = value[~np.isnan(value)]
        return float(of(value)) if value.size else None

    return read


def quantile(share: float) -> Callable[[Floats], float]:
    """A quantile as a function."""
    return lambda x: float(np.quantile(x, share))


def sent(item: str, since: float, until: float) -> Read:
    """Bits a second of an item that left the bottleneck; of no item: of all."""

    def read(run: Observed) -> float | None:
        truth = run.truth("down")
        if truth is None or item not in truth.throughput_bps:
            return None
        own = truth.throughput_bps[item].within(_window(since, until))
        return float(own.value.sum()) * BIN_S / (until - since)

    return read


def _times(of: Read, factor: Callable[[Observed], float]) -> Read:
    def read(run: Observed) -> float | None:
        value = of(run)
        return None if value is None else value * factor(run)

    return read


def share(item: str, since: float, until: float) -> Read:
    """The same as a part of what the bottleneck could carry meanwhile."""
    return _times(sent(item, since, until), lambda run: 1 / run.capacity_bps("down", _window(since, until)))


def packets(item: str, since: float, until: float, in_s: float) -> Read:
    """Full packets of an item that left the bottleneck in so long a time, on average."""
    return _times(sent(item, since, until), lambda _: in_s / 8 / FRAME_BYTES)


def queueing_ms(quantile: float, since: float, until: float) -> Read:
    """A quantile over time of how long packets stood in the queue (medians of 10 ms)."""

    def read(run: Observed) -> float | None:
        truth = run.truth("down")
        own = truth.sojourn_p50_ms.within(_window(since, until)).value if truth else np.empty(0)
        own = own[~np.isnan(own)]
        return float(np.quantile(own, quantile)) if own.size else None

    return read


def lost(since: float, until: float) -> Read:
    """Packets that the bottleneck dropped over those that came, of full packets."""

    def read(run: Observed) -> float | None:
        truth, passed = run.truth("down"), packets("", since, until, until - since)(run)
        if truth is None or passed is None:
            return None
        dropped = float(np.nansum(truth.drops.within(_window(since, until)).value))
        return dropped / (dropped + passed) if dropped + passed else None

    return read


def jain(items: Sequence[str], since: float, until: float) -> Read:
    """Jain's index of what several items got."""

    def read(run: Observed) -> float | None:
        known = [rate for item in items if (rate := sent(item, since, until)(run)) is not None]
        if len(known) < len(items) or not any(known):
            return None
        return sum(known) ** 2 / (len(known) * sum(rate**2 for rate in known))

    return read


def completion_s(items: Sequence[str]) -> Read:
    """The median of how long items took that end by themselves; one that did not counts to the run's end."""

    def read(run: Observed) -> float | None:
        known = run.manifest.get("items") or {}
        own = (part for part in run.plan.traffic if part.item in items and not is_background(part))
        ends = [
            (known.get(part.id, {}).get("start_ns"), known.get(part.id, {}).get("end_ns")) for part in own
        ]
        took = [(end - start) / NS_PER_S for start, end in ends if start is not None and end is not None]
        return float(np.median(took)) if took else None

    return read


def reached_s(item: str, part: float, after: float, until: float, over: float = 0.2) -> Read:
    """How long from a time on until an item has so large a part of the link over `over` s; `until` where it
    has not."""

    def read(run: Observed) -> float | None:
        truth, bins = run.truth("down"), max(1, round(over / BIN_S))
        own = (
            truth.throughput_bps.get(item, EMPTY).within(_window(after, until)).value
            if truth
            else np.empty(0)
        )
        if own.size < bins:
            return None
        smooth = np.convolve(own, np.ones(bins) / bins, "valid")
        there = np.flatnonzero(smooth >= part * run.capacity_bps("down", _window(after, until)))
        return float(there[0] * BIN_S + over) if there.size else until - after

    return read


def of_tap(name: str, item: str, over: str = "") -> Read:
    """What the tap says of an item's packets where they wait, the whole run; over another of its figures."""

    def read(run: Observed) -> float | None:
        own = run.whose(item, run.bottleneck("down"))
        value, whole = (run.figure(each, "down", own) if each else 1.0 for each in (name, over))
        return None if value is None or not whole else value / whole

    return read


@dataclass(frozen=True)
class Epoch:
    """What a window does from one reduction to the next: `t_s` since the reduction, the greatest window in
    the two round trips `before`, the slow start threshold that it was reduced to (`after`)."""

    t_s: Floats
    cwnd: Floats
    before: float
    after: float
    rtt_s: float


def epochs(run: Observed, since: float = 0.0, item: str = FLOW) -> list[Epoch]:
    """Those that begin after a time and end in the run, in order. One begins where the kernel enters
    Recovery, Loss or CWR; a sender that does not say so has none."""
    limit, window, rtt, state = (sender(run, name, item) for name in ("ssthresh", "cwnd", "rtt", "state"))
    at = state.t_ns[np.flatnonzero(np.diff((state.value > DISORDER).astype(int)) > 0) + 1]
    found = []
    for begin, end in itertools.pairwise(at[at >= since * NS_PER_S]):
        rtt_s = float(np.median(rtt.within((int(begin - NS_PER_S), int(begin) + 1)).value))
        before = window.within((int(begin - 2 * rtt_s * NS_PER_S), int(begin) + 1)).value
        own, after = window.within((int(begin), int(end))), limit.within((int(begin), int(begin) + 1)).value
        if before.size and own.value.size and after.size:
            t_s = (own.t_ns - begin) / NS_PER_S
            found.append(Epoch(t_s, own.value, float(before.max()), float(after[0]), rtt_s))
    return found
