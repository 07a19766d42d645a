"""Wi-Fi: who has something to send waits for the air, sends an aggregate, and gets one acknowledgement.

A turn by demand is one transmission of ours: before it there is the arbitration (AIFS and backoff) and what
others sent who came first, each time with the chance of one station among all that contend. A packet of an
aggregate that fails is sent again in the next; what came after it waits for it. Others always have something
to send, are alike and do not collide; the PHY's rate is that of its time in a saturated link.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from narrows.media import draws
from narrows.media.schedule import MOST_TURNS, SCHEDULES_KEPT, Schedule, Turn, air_ns, full_packets
from narrows.units import NS_PER_S

AIFS_NS, SLOT_NS, CW_MIN = 43_000, 9_000, 15
"""Of the access category best effort (IEEE 802.11, EDCA) in 5 GHz: SIFS 16 µs and three slots."""
PREAMBLE_NS, SIFS_NS, BLOCK_ACK_NS = 44_000, 16_000, 32_000
HEADER_BYTES = 48
"""MAC header, FCS, delimiter and LLC/SNAP, of a packet."""
FULL_BYTES = 1500 + HEADER_BYTES
TURNS = 8192
"""At least."""
LONGEST_NS = 5_484_000
"""A transmission's, by 802.11."""
MOST_PACKETS = 64
"""A block acknowledgement's window here; 802.11ax has 256."""


@dataclass(frozen=True)
class Cell:
    """What the schedule is drawn from."""

    stations: int
    """Others, each with something to send all the time."""
    txop_ns: int
    packets: int
    failure: float
    retries: int


@lru_cache(maxsize=SCHEDULES_KEPT)
def schedule(cell: Cell, steps: tuple[tuple[int, int], ...], period_ns: int, seed: int, way: str) -> Schedule:
    """One way; steps are the PHY's rate over time, which begins again after the period. A rate that moves has
    turns for all of it."""
    draw, rate = draws.of("wifi", seed, way), draws.rate_at(steps)
    turns: list[Turn] = []
    at_ns = 0
    while len(turns) < TURNS or (len(steps) > 1 and at_ns < period_ns and len(turns) < MOST_TURNS):
        wait_ns = AIFS_NS + SLOT_NS * draw.randint(0, CW_MIN)
        while draw.random() >= 1 / (cell.stations + 1):
            others = AIFS_NS + SLOT_NS * draw.randint(0, CW_MIN) // (cell.stations + 1)
            wait_ns += others + cell.txop_ns + PREAMBLE_NS + SIFS_NS + BLOCK_ACK_NS
        fails = sum(1 << n for n in range(cell.packets) if draw.random() < cell.failure)
        kbps = max(rate(at_ns % period_ns) // 1000, 1)
        turn = Turn(
            wait_ns,
            kbps * cell.txop_ns // (8 * 10**6),
            PREAMBLE_NS + SIFS_NS + BLOCK_ACK_NS,
            kbps=kbps,
            packets=cell.packets,
            fails=fails,
        )
        at_ns += wait_ns + air_ns(turn, full_packets(turn, FULL_BYTES) * FULL_BYTES)
        turns.append(turn)
    return Schedule(tuple(turns), NS_PER_S, by_demand=True, overhead_bytes=HEADER_BYTES, retries=cell.retries)
