"""What a path carried when, where a queue stood: of a rate that moves, and of links below IP. Pure.

Between two packets that both waited the link had something to send all along, so what was acknowledged is
what it could carry. Where none waited, what comes after goes in its place. Links below IP hand packets over
together, at turns: then their times are kept; of a rate that moves only how much it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from narrows.headers import ETHERNET_HEADER_BYTES, TCP_IPV4_HEADERS_BYTES
from narrows.whatif.tables import Floats, Pair

Mask = NDArray[np.bool_]
LEAST_KNOWN = 0.25
"""Of the capture's time: a rate that moves and is known of less may be anything meanwhile."""
MOVES = 0.10
"""A rate moves whose quarters of a second spread by more than this share of their median."""
BIN_S, LEVEL_S = 0.05, 0.25
TOGETHER = 0.25
"""Of the bytes: so many within half of their fair time after those before are of a link that has turns."""
INSTANT_S = 50e-6
AROUND = 64
"""Gaps whose sum is the fair time of what came in them."""


@dataclass(frozen=True)
class Turns:
    """When, in seconds, the link carried how many bytes. `together`: at turns of a link below IP."""

    at_s: Floats
    bytes: Floats
    together: bool

    @property
    def mean_bps(self) -> float:
        return float(self.bytes.sum() * 8 / self.at_s[-1])

    def held(self, until_s: Floats, for_s: Floats) -> Floats:
        """The bytes that left in so many seconds until each of these times: what waited for so long."""
        total = np.cumsum(self.bytes)
        return np.interp(until_s, self.at_s, total) - np.interp(until_s - for_s, self.at_s, total)

    def scaled(self, share: float) -> str:
        """The file that an experiment reads: turns for `opportunities`, rates for `trace`."""
        if self.together:
            rows = [
                f"{at:.6f},{max(size * share, 1):.0f}" for at, size in zip(self.at_s, self.bytes, strict=True)
            ]
            return "\n".join(["time_s,bytes", *rows, ""])
        edges = np.arange(0.0, self.at_s[-1] + BIN_S, BIN_S)
        bins = np.diff(np.interp(edges, self.at_s, np.cumsum(self.bytes))) * 8 / BIN_S
        # A slower arm goes on after the capture's end: with the mean. The last bin is not whole.
        rates = [*bins[:-1], bins[:-1].mean()]
        rows = [f"{n * BIN_S:.3f},{bps * share:.0f}" for n, bps in enumerate(rates)]
        return "\n".join(["time_s,rate_bps", *rows, ""])


def turns_of(pair: Pair, base_s: float, least_s: float, stood: Mask) -> Turns | None:
    """The turns of a path whose packets waited when their RTT was at least `least_s`, and in whose queue all
    along something stood at the ACKs `stood`; None where it has one rate, or too little is known."""
    known = ~np.isnan(pair.rtt) & ~pair.sacked
    # At turns a packet waits also where nothing stands, so there only the latter counts.
    for together, of in ((True, known & stood), (False, known)):
        start, gap, size = _busy(pair, base_s, least_s, np.flatnonzero(of))
        if len(gap) < 4 * AROUND or together != _is_together(gap, size):
            continue
        if not together and not _moves(start, gap, size, float(pair.t[-1])):
            return None
        headers = TCP_IPV4_HEADERS_BYTES + (0 if together else ETHERNET_HEADER_BYTES)
        at, carried = _filled(start, gap, size * (1 + headers / pair.mss), float(pair.t[-1]))
        at = np.maximum(at - base_s / 2, 0.0)  # what is acknowledged left about half a base RTT before
        if together:
            first = np.concatenate([[True], np.diff(at) > INSTANT_S])
            at, carried = at[first], np.add.reduceat(carried, np.flatnonzero(first))
        return Turns(at[at > 0], carried[at > 0], together)
    return None


def _is_together(gap: Floats, size: Floats) -> bool:
    window = np.ones(AROUND)
    fair = np.convolve(gap, window, "same") / np.convolve(size, window, "same") * size
    return bool(size[gap < fair / 2].sum() > TOGETHER * size.sum())


def _moves(start: Floats, gap: Floats, size: Floats, length_s: float) -> bool:
    """Whether the rate moves, and for long enough is known."""
    level = np.floor(start / LEVEL_S).astype(int)
    sizes, gaps = (np.bincount(level, weights=each) for each in (size, gap))
    rates = sizes[gaps > LEVEL_S / 4] / gaps[gaps > LEVEL_S / 4]
    if gap.sum() < LEAST_KNOWN * length_s or len(rates) < 4:
        return False
    return bool(np.subtract(*np.percentile(rates, [90, 10])) > MOVES * np.median(rates))


def _busy(
    pair: Pair, base_s: float, least_s: float, known: NDArray[np.int64]
) -> tuple[Floats, Floats, Floats]:
    """Stretches from ACK to ACK in which the link had something to send: their start, length and payload."""
    here, following = known[:-1], known[1:]
    gap = pair.t[following] - pair.t[here]
    waited = np.minimum(pair.rtt[here], pair.rtt[following]) > least_s
    # The later one was there before the earlier one had left.
    waited &= gap <= pair.rtt[following] - base_s
    passed = np.cumsum(pair.acked)
    return pair.t[here][waited], gap[waited], (passed[following] - passed[here])[waited]


def _filled(start: Floats, gap: Floats, size: Floats, end_s: float) -> tuple[Floats, Floats]:
    """When how much was carried, until the end; what is not known is as what comes after it, or at the end as
    what came before."""
    at, carried, now = [], [], 0.0
    n = len(start)
    for k in range(n + 1):
        until = start[k] if k < n else end_s
        like = k if k < n else max(n - 4 * AROUND, 0)
        while until - now > INSTANT_S:
            step = max(gap[like % n], INSTANT_S / 10)
            part = min((until - now) / step, 1.0)
            now += step * part
            at.append(now)
            carried.append(size[like % n] * part)
            like += 1
        if k < n:
            now = start[k] + gap[k]
            at.append(now)
            carried.append(size[k])
    return np.array(at), np.array(carried)
