"""What a bottleneck's rate is, by the ACKs of what stood in its queue. Pure.

Two things tell it. Where a queue stood all along, the flows took all that the path gave them: the link, or
their share of it. And ACKs of packets that stood one behind the other come apart by what the link itself
takes for them. Where the second is more than the first, other flows are in the queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from narrows.headers import ETHERNET_HEADER_BYTES, TCP_IPV4_HEADERS_BYTES
from narrows.whatif.tables import Floats, Pair
from narrows.whatif.turns import Mask, Turns, turns_of

HEADERS_BYTES = ETHERNET_HEADER_BYTES + TCP_IPV4_HEADERS_BYTES
SAME = 0.03
"""Gaps that differ by less than this are of one rate."""
LEAST_SHARE = 0.05
"""Of gaps: fewer that agree are chance."""
OTHERS = 0.85
"""A share below this part of the link's rate leaves room for other flows."""
WINDOW_S = 0.1
MOST_OTHERS = 8


@dataclass(frozen=True)
class Value:
    """A number with the interval in which it lies, and what shows it."""

    value: float
    low: float
    high: float
    why: str

    def at(self, part: float) -> float:
        """The value at a part (0 to 1) of the interval."""
        return self.low + part * (self.high - self.low)


@dataclass(frozen=True)
class Others:
    """Flows that are not in the capture: how many long ones would leave this share, and until when they are
    there."""

    flows: int
    until_s: float


@dataclass(frozen=True)
class Capacity:
    """What is known of the rate, in frames; `turns` where it moves or a link below IP has its own times."""

    rate_bps: Value | None
    turns: Turns | None = None
    others: Others | None = None


def known_of(pair: Pair, base_s: float) -> Capacity:
    """The capacity of one pair's path; its rate is None where no queue stood."""
    frame = (pair.mss + HEADERS_BYTES) / pair.mss
    least_s = waiting(pair, base_s)
    times, rates, stood = standing(pair, least_s)
    gaps = spaced(pair, base_s)
    turns = turns_of(pair, base_s, least_s, stood)
    rates, gaps = rates * frame, gaps * frame
    link = None if turns is not None and turns.together else agreed(gaps)
    if link is None and len(rates) < 3:
        mean = None if turns is None else about(turns.mean_bps, 0.02, "what was carried while a queue stood")
        return Capacity(mean, turns)
    share = float(np.median(rates)) if len(rates) >= 3 else None
    if link is not None and (share is None or link > share / (1 + SAME)):
        rate = about(link, 0.005, f"{len(gaps)} gaps between ACKs of packets that waited")
        if share is None or share > OTHERS * link:
            return Capacity(rate, turns)
        flows = min(max(round(link / share - 1), 1), MOST_OTHERS)
        low = times[rates < OTHERS * link]
        return Capacity(rate, turns, Others(flows, float(low[-1]) + WINDOW_S))
    if share is None:
        return Capacity(None)
    spread = float(np.subtract(*np.percentile(rates, [90, 10]))) / share
    error = max(spread / 2 / len(rates) ** 0.5, 0.005)
    rate = about(share, error, f"{len(rates)} windows in which a queue stood")
    return Capacity(rate, turns)


def about(value: float, share: float, why: str) -> Value:
    """A value that is known to a share of it."""
    return Value(value, value * (1 - share), value * (1 + share), why)


def agreed(rates: Floats) -> float | None:
    """The highest rate that enough gaps agree on; None where they do not agree on any."""
    if len(rates) < 50:
        return None
    bins = np.floor(np.log(rates) / np.log1p(SAME)).astype(int)
    values, counts = np.unique(bins, return_counts=True)
    found = values[counts >= LEAST_SHARE * len(rates)]
    if not len(found):
        return None
    return float(np.median(rates[np.abs(bins - found[-1]) <= 1]))


def spaced(pair: Pair, base_s: float) -> Floats:
    """Of each ACK of a packet that waited the payload that it acknowledges over the time since the ACK before
    it, in bit/s. Nothing where ACKs come in aggregates: their gaps are of what is below."""
    rates = [np.array([])]
    for n, row in enumerate(pair.connections):
        mine = np.flatnonzero(pair.of == n)
        if row["aggregate_bytes"] is not None or len(mine) < 3:
            continue
        gap = np.diff(pair.t[mine])
        last, acked = mine[1:], pair.acked[mine[1:]]
        waited = pair.rtt[last] - base_s > max(0.001, 0.02 * base_s)
        fits = waited & (gap > 0) & (acked > 0.5 * pair.mss) & (acked < 4.5 * pair.mss)
        fits &= ~pair.sacked[last] & ~pair.sacked[mine[:-1]]
        rates.append(acked[fits] * 8 / gap[fits])
    return np.concatenate(rates)


def waiting(pair: Pair, base_s: float) -> float:
    """The RTT from which on a packet stood behind another, in seconds: not only for the turn of a link below
    IP."""
    together = max(row["aggregate_bytes"] or 0 for row in pair.connections)
    turn_s = together * _packet_s(pair) / pair.mss
    return base_s + max(0.001, 2.0 * _packet_s(pair), 0.02 * base_s, 2.0 * turn_s)


def standing(pair: Pair, least_s: float) -> tuple[Floats, Floats, Mask]:
    """Windows in which a queue stood all along and nothing was lost: their middles in seconds, the payload
    that was acknowledged, in bit/s, and which ACKs are in them."""
    edges = np.arange(0.0, pair.t[-1], WINDOW_S)
    number = np.searchsorted(edges, pair.t, side="right") - 1
    middles, rates = [], []
    stood = np.zeros(len(pair.t), dtype=bool)
    for n in range(1, len(edges) - 1):
        inside = slice(*np.searchsorted(number, [n, n + 1]))
        rtt = pair.rtt[inside]
        if inside.stop - inside.start < 5 or pair.sacked[inside].any() or np.isnan(rtt).mean() > 0.5:
            continue
        if np.nanmin(rtt) < least_s:
            continue
        # From the last ACK before the window to its last one: whole gaps, so no part of an ACK is lost.
        first, last = inside.start - 1, inside.stop - 1
        span = pair.t[last] - pair.t[first]
        if span <= 0 or pair.sacked[first]:
            continue
        stood[first : inside.stop] = True
        middles.append((pair.t[first] + pair.t[last]) / 2)
        rates.append(pair.acked[inside].sum() * 8 / span)
    return np.array(middles), np.array(rates), stood


def _packet_s(pair: Pair) -> float:
    """About what a packet takes at the rate of the whole capture."""
    return float(pair.mss * (pair.t[-1] - pair.t[0]) / max(pair.acked.sum(), 1.0))
