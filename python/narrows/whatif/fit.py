"""Fits a path and its traffic from what a sender's capture shows. A pure function; it runs nothing.

What a capture does not show is None, and stays "not known" in all that is written of it: no capacity where no
queue stood, no buffer where nothing was lost. Which discipline the queue is, is not decided here: the kinds that
could be are named, and those stay whose runs come out as the capture did (`narrows.whatif.check`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from narrows.headers import ETHERNET_HEADER_BYTES, TCP_IPV4_HEADERS_BYTES
from narrows.whatif.tables import Floats, Pair

HEADERS_BYTES = ETHERNET_HEADER_BYTES + TCP_IPV4_HEADERS_BYTES
IDLE_S = 0.3
"""A pause of the application is at least this long, and longer than the base RTT."""
LEAST_TRANSFER = 15_000
"""Bytes; less is over within the initial window and says nothing of the path."""
MOST_TRANSFERS = 40
MOVES = 0.10
"""Windows whose rates spread by more than this share of their median are of a rate that moves."""
TAIL = 0.85
"""A queue that drops only when at least this full, each time, drops at its end."""
AQMS = ("fq_codel()", "codel()", "pie()", "cake()")


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
class Transfer:
    """What the application gave at one time: when, in seconds, and how many bytes."""

    start_s: float
    bytes: int


@dataclass(frozen=True)
class FittedPath:
    """What is known of a path and its traffic. Rates count frames, as a Link's do; None: not known."""

    log: str
    sender: str
    receiver: str
    base_rtt_s: Value
    rate_bps: Value | None
    steps: tuple[tuple[float, float], ...]
    """Of a rate that moves: seconds, bit/s; empty where it stands still."""
    buffer_bytes: Value | None
    drops_at_end: bool | None
    losses: int
    random_loss: Value | None
    """Share of packets that are lost where no queue stood."""
    policer_burst: int | None
    transfers: tuple[Transfer, ...]
    length_s: float
    limits: dict[str, float]
    """Share of active time by what limited the largest flow."""
    receiver_window: int | None
    notes: tuple[str, ...]

    def queues(self) -> tuple[str, ...]:
        """The kinds that the queue could be, as an experiment writes them; the buffer stands as {buffer}."""
        if self.policer_burst is not None:
            return ("policer",)
        tail = ("bfifo",)
        return tail if self.drops_at_end or self.losses == 0 else tail + AQMS


def fit(pair: Pair) -> FittedPath:
    """The path and the traffic of one pair of hosts."""
    rows = pair.connections
    largest = max(rows, key=lambda row: row["payload_bytes"])
    base_s = min(row["base_rtt_ns"] for row in rows if row["base_rtt_ns"]) / 1e9
    base = Value(base_s, base_s * 0.995, base_s * 1.005, "the least RTT sample")
    frame = (pair.mss + HEADERS_BYTES) / pair.mss
    times, rates = standing(pair, base_s)
    policed = largest["policed"] == 1 and largest["policed_rate_bps"]
    rate, steps = _capacity(times, rates * frame, pair, base_s)
    if policed:
        rate = _about(largest["policed_rate_bps"] * frame, 0.02, "losses above one rate only")
        steps = ()
    transfers, left_out = _transfers(pair, base_s)
    full_s, drops_at_end = _fullest(pair, base_s)
    packet = pair.mss + HEADERS_BYTES
    losses = sum(max(row["loss_events"] or 0, 0) for row in rows)
    buffer = None
    if rate is not None and full_s:
        held = full_s * rate.value / 8 + packet
        why = (
            "the delay when packets were lost"
            if losses
            else "the longest delay; nothing was lost, so at least"
        )
        buffer = Value(held, held * 0.95, held * (1.06 if losses else 4.0), why)
    segments = sum(row["data_segments"] or 0 for row in rows)
    low = sum(row["lost_segments_low_rtt"] or 0 for row in rows)
    random_loss = None
    if low >= 5 and not policed:
        share = low / segments
        reach = 1.64 * low**0.5 / segments
        random_loss = Value(share, max(share - reach, 0.0), share + reach, "losses while no queue stood")
    names = ("application", "receiver", "buffer", "queue", "policer", "loss", "window", "unknown")
    limits = {name: float(largest[f"{name}_limited_share"] or 0.0) for name in names}
    notes = (
        [f"{left_out} of the payload is of transfers too short or too many to be run again"]
        if left_out
        else []
    )
    if pair.share < 0.999:
        notes.append(
            f"{pair.share:.0%} of the capture's payload is between these two hosts; the rest is left out"
        )
    return FittedPath(
        log=pair.log,
        sender=pair.sender,
        receiver=pair.receiver,
        base_rtt_s=base,
        rate_bps=rate,
        steps=steps,
        buffer_bytes=buffer,
        drops_at_end=drops_at_end,
        losses=losses,
        random_loss=random_loss,
        policer_burst=int(largest["burst_bytes"] or 50_000) if policed else None,
        transfers=transfers,
        length_s=float(pair.t[-1]),
        limits=limits,
        receiver_window=int(pair.outstanding.max()) if limits["receiver"] > 0.2 else None,
        notes=tuple(notes),
    )


def standing(pair: Pair, base_s: float) -> tuple[Floats, Floats]:
    """Windows in which a queue stood all along and nothing was lost: their middles in seconds, and the payload
    that was acknowledged, in bit/s."""
    width = max(0.1, min(base_s, 0.25))
    packet_s = _packet_s(pair)
    edges = np.arange(0.0, pair.t[-1], width)
    number = np.searchsorted(edges, pair.t, side="right") - 1
    middles, rates = [], []
    least = base_s + max(0.001, 2.0 * packet_s, 0.02 * base_s)
    for n in range(1, len(edges) - 1):
        inside = slice(*np.searchsorted(number, [n, n + 1]))
        rtt = pair.rtt[inside]
        if inside.stop - inside.start < 5 or pair.sacked[inside].any() or np.isnan(rtt).mean() > 0.5:
            continue
        if np.nanmin(rtt) < least:
            continue
        # From the last ACK before the window to its last one: whole gaps, so no part of an ACK is lost.
        first, last = inside.start - 1, inside.stop - 1
        span = pair.t[last] - pair.t[first]
        if span <= 0 or pair.sacked[first]:
            continue
        middles.append((pair.t[first] + pair.t[last]) / 2)
        rates.append(pair.acked[inside].sum() * 8 / span)
    return np.array(middles), np.array(rates)


def _packet_s(pair: Pair) -> float:
    """About what a packet takes at the rate of the whole capture."""
    return float(pair.mss * (pair.t[-1] - pair.t[0]) / max(pair.acked.sum(), 1.0))


def _about(value: float, share: float, why: str) -> Value:
    return Value(value, value * (1 - share), value * (1 + share), why)


def _capacity(
    times: Floats, rates: Floats, pair: Pair, base_s: float
) -> tuple[Value | None, tuple[tuple[float, float], ...]]:
    """The rate, and its steps where it moves. None of fewer than three windows with a queue."""
    if len(rates) < 3:
        return None, ()
    median = float(np.median(rates))
    spread = float(np.subtract(*np.percentile(rates, [90, 10]))) / median
    error = max(spread / 2 / len(rates) ** 0.5, 0.005)
    rate = _about(median, error, f"{len(rates)} windows in which a queue stood")
    covered = len(rates) * max(0.1, min(base_s, 0.25)) / max(float(pair.t[-1]), 0.1)
    if spread <= MOVES or len(rates) < 10 or covered < 0.25:
        return rate, ()
    steps: list[tuple[float, float]] = []
    for at in np.arange(0.0, pair.t[-1], 0.5):
        near = (times >= at) & (times < at + 0.5)
        if near.any():
            # What an ACK acknowledges left the queue half a base RTT before.
            steps.append((max(float(at) - base_s / 2, 0.0), float(np.median(rates[near]))))
    steps[0] = (0.0, steps[0][1])
    return rate, tuple(steps)


def _fullest(pair: Pair, base_s: float) -> tuple[float, bool | None]:
    """The queueing delay at which the queue was full, in seconds, and whether it only ever dropped then."""
    known = ~np.isnan(pair.rtt)
    if not known.any():
        return 0.0, None
    longest = float(np.nanmax(pair.rtt)) - base_s
    starts = np.flatnonzero(pair.sacked & ~np.concatenate([[False], pair.sacked[:-1]]))
    levels = []
    for start in starts:
        recent = known & (pair.t > pair.t[start] - 1.5 * (base_s + longest)) & (pair.t <= pair.t[start])
        if recent.any():
            levels.append((float(pair.rtt[recent].max()) - base_s) / max(longest, 1e-9))
    return longest, (min(levels) >= TAIL if len(levels) >= 3 else None)


def _transfers(pair: Pair, base_s: float) -> tuple[tuple[Transfer, ...], str]:
    """What the application gave, piece by piece; and the share of payload that is left out, as text."""
    pieces: list[Transfer] = []
    for n, row in enumerate(pair.connections):
        mine = np.flatnonzero(pair.of == n)
        if not len(mine):
            continue
        start_s = (row["start_ns"] - pair.connections[0]["start_ns"]) / 1e9
        taken = 0.0
        for here, following in zip(mine, [*mine[1:], None], strict=True):
            taken += pair.acked[here]
            if following is None:
                break
            rtt = pair.rtt[following]
            begun = pair.t[following] - (base_s if np.isnan(rtt) else rtt)
            if pair.outstanding[here] == 0 and begun - pair.t[here] > max(IDLE_S, base_s):
                pieces.append(Transfer(start_s, int(taken)))
                # A piece is run as a connection of its own, whose handshake takes a round trip.
                start_s, taken = max(begun - base_s, 0.0), 0.0
        pieces.append(Transfer(start_s, int(taken)))
    long = [piece for piece in pieces if piece.bytes >= LEAST_TRANSFER]
    kept = sorted(sorted(long, key=lambda piece: -piece.bytes)[:MOST_TRANSFERS], key=lambda p: p.start_s)
    whole = sum(piece.bytes for piece in pieces)
    left = 1 - sum(piece.bytes for piece in kept) / max(whole, 1)
    return tuple(kept), f"{left:.0%}" if left > 0.01 else ""
