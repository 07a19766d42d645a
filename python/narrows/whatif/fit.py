"""Fits a path and its traffic from what a sender's capture shows. A pure function; it runs nothing.

What a capture does not show is None, and stays "not known" in all that is written of it: no capacity where no
queue stood, no buffer where nothing was lost. Which discipline the queue is, is not decided here: the kinds
that could be are named, and those stay whose runs come out as the capture did (`narrows.whatif.check`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from narrows.whatif.capacity import HEADERS_BYTES, Capacity, Others, Value, known_of
from narrows.whatif.policer import Policer, policer_of
from narrows.whatif.tables import Pair
from narrows.whatif.turns import Turns

IDLE_S = 0.3
"""A pause of the application is at least this long, and longer than the base RTT."""
LEAST_TRANSFER = 15_000
"""Bytes; less is over within the initial window and says nothing of the path."""
MOST_TRANSFERS = 40
ALONE = 5
"""RTT samples whose median is taken: no more than two of them are of ACKs that were delayed."""
HELD_BACK_S = 0.035
"""Linux holds an ACK back for 40 ms."""
TAIL = 0.85
"""A queue that drops only when at least this full, each time, drops at its end."""
AQMS = ("fq_codel()", "codel()", "pie()", "cake()")


@dataclass(frozen=True)
class Transfer:
    """What the application gave at one time: when, in seconds, and how many bytes; and when the last of them
    was acknowledged."""

    start_s: float
    bytes: int
    end_s: float


@dataclass(frozen=True)
class FittedPath:
    """What is known of a path and its traffic. Rates count frames, as a Link's do; None: not known."""

    log: str
    sender: str
    receiver: str
    base_rtt_s: Value
    rate_bps: Value | None
    turns: Turns | None
    """Of a rate that moves, or of a link below IP; None where one rate stands still."""
    others: Others | None
    """Flows that are not in the capture and share the queue; None where none show."""
    buffer_bytes: Value | None
    drops_at_end: bool | None
    losses: int
    random_loss: Value | None
    """Share of packets that are lost where no queue stood."""
    policer: Policer | None
    transfers: tuple[Transfer, ...]
    length_s: float
    limits: dict[str, float]
    """Share of active time by what limited the largest flow."""
    receiver_window: int | None
    notes: tuple[str, ...]

    def kinds(self) -> tuple[Kind, ...]:
        """What the bottleneck could be, the likeliest first."""
        if self.policer is not None:
            return (Kind("policer"),)
        certain = self.drops_at_end or self.losses == 0
        queues = ("bfifo",) if certain else ("bfifo", *AQMS)
        plain = tuple(Kind(queue) for queue in queues)
        lossy: tuple[Kind, ...] = ()
        if self.random_loss is not None:
            deeper = () if self.drops_at_end else (Kind("bfifo", lossy=True, deep=True),)
            lossy = (Kind("bfifo", lossy=True), *deeper)
        if self.others is None:
            return (*plain, *lossy)
        # One that was there first takes more than its share, and BBR wherever a queue is short.
        many, fewer, half = self.others.flows, max(self.others.flows - 1, 1), (self.others.flows + 1) // 2
        beside = [Kind(queue, others="cubic", flows=many) for queue in queues]
        several = (("cubic", fewer), ("cubic", many), ("bbr", half), ("bbr", fewer), ("bbr", many))
        beside += [Kind("bfifo", others=cca, flows=n) for cca, n in several]
        alone = (Kind("bfifo"), Kind("fq_codel()")) if self.turns is None else plain
        return (*dict.fromkeys(beside), *alone, *lossy)


@dataclass(frozen=True)
class Kind:
    """One thing that the bottleneck could be: a queue as an experiment writes it (or a policer), with losses
    on the path or not, with other flows of this CCA in it or none."""

    queue: str
    lossy: bool = False
    others: str | None = None
    flows: int = 0
    """How many others there are."""
    deep: bool = False
    """The queue was never full: all losses are the path's."""

    def words(self) -> str:
        """`bfifo`, `fq_codel with other flows (2 cubic)`."""
        more = f" with other flows ({self.flows} {self.others})" if self.others else ""
        deep = ", never full," if self.deep else ""
        return self.queue.removesuffix("()") + deep + (" and losses" if self.lossy else "") + more


def fit(pair: Pair) -> FittedPath:
    """The path and the traffic of one pair of hosts."""
    rows = pair.connections
    largest = max(rows, key=lambda row: row["payload_bytes"])
    base_s = min(row["base_rtt_ns"] for row in rows if row["base_rtt_ns"]) / 1e9
    base = Value(base_s, base_s * 0.995, base_s * 1.005, "the least RTT sample")
    policer = policer_of(pair)
    capacity = known_of(pair, base_s)
    if policer is not None:
        capacity = Capacity(policer.rate_bps)
    rate = capacity.rate_bps
    transfers, left_out = _transfers(pair, base_s)
    full_s, full_bytes, drops_at_end = _fullest(pair, base_s, capacity.turns)
    packet = pair.mss + HEADERS_BYTES
    losses = sum(max(row["loss_events"] or 0, 0) for row in rows)
    buffer = None
    if rate is not None and full_s and policer is None:
        held = (full_bytes or full_s * rate.value / 8) + packet
        why = (
            "the delay when packets were lost"
            if losses
            else "the longest delay; nothing was lost, so at least"
        )
        buffer = Value(held, held * 0.95, held * (1.06 if losses else 4.0), why)
    segments = sum(row["data_segments"] or 0 for row in rows)
    low = sum(row["loss_events_low_rtt"] or 0 for row in rows)
    random_loss = None
    if policer is None and (low >= 3 or (losses and not drops_at_end)):
        why = "recoveries while no queue stood" if low >= 3 else "recoveries, if none is the queue's"
        events = low if low >= 3 else losses
        # What is lost within a recovery is not counted: up to twice as many.
        share, reach = events / segments, 1.64 * events**0.5 / segments
        random_loss = Value(share, max(share - reach, 0.2 * share), 2 * share + reach, why)
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
        turns=capacity.turns,
        others=capacity.others,
        buffer_bytes=buffer,
        drops_at_end=drops_at_end,
        losses=losses,
        random_loss=random_loss,
        policer=policer,
        transfers=transfers,
        length_s=float(pair.t[-1]),
        limits=limits,
        receiver_window=int(pair.outstanding.max()) if limits["receiver"] > 0.2 else None,
        notes=tuple(notes),
    )


def _fullest(pair: Pair, base_s: float, turns: Turns | None) -> tuple[float, float | None, bool | None]:
    """The queueing delay at which the queue was full, in seconds, where the rate moves also the bytes that it
    held; and whether it only ever dropped then."""
    known = np.flatnonzero(~np.isnan(pair.rtt))
    # An ACK of a single segment that comes long after the one before was held back by the receiver.
    late = np.diff(pair.t, prepend=pair.t[0])[known] > HELD_BACK_S
    known = known[~late | (pair.acked[known] > 1.5 * pair.mss)]
    if len(known) < ALONE:
        return 0.0, None, None
    # A queue is as long for the packets before and after; an ACK that was itself delayed stands alone.
    near = np.lib.stride_tricks.sliding_window_view(pair.rtt[known], ALONE)
    rtt, t = np.median(near, axis=1), pair.t[known[ALONE - 1 :]]
    longest = float(rtt.max()) - base_s
    held = None if turns is None else float(turns.held(t - base_s / 2, rtt - base_s).max())
    levels = []
    for start in pair.t[pair.sacked & ~np.concatenate([[False], pair.sacked[:-1]])]:
        recent = rtt[(t > start - 1.5 * (base_s + longest)) & (t <= start)]
        if len(recent):
            levels.append((float(recent.max()) - base_s) / max(longest, 1e-9))
    return longest, held, (min(levels) >= TAIL if len(levels) >= 3 else None)


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
                pieces.append(Transfer(start_s, int(taken), float(pair.t[here])))
                # A piece is run as a connection of its own, whose handshake takes a round trip.
                start_s, taken = max(begun - base_s, 0.0), 0.0
        pieces.append(Transfer(start_s, int(taken), float(pair.t[mine[-1]])))
    long = [piece for piece in pieces if piece.bytes >= LEAST_TRANSFER]
    kept = sorted(sorted(long, key=lambda piece: -piece.bytes)[:MOST_TRANSFERS], key=lambda p: p.start_s)
    whole = sum(piece.bytes for piece in pieces)
    left = 1 - sum(piece.bytes for piece in kept) / max(whole, 1)
    return tuple(kept), f"{left:.0%}" if left > 0.01 else ""
