"""The medium `wifi`: who has something to send waits for the air, which both ways share, sends an aggregate,
and gets one acknowledgement.

A turn by demand is one transmission of ours: before it there is the arbitration (AIFS and backoff) and what
others sent who came first, each time with the chance of one station among all that contend. A packet of an
aggregate that fails is sent again in the next; what came after it waits for it. Others always have something
to send, are alike and do not collide; the PHY's rate is that of its time in a saturated link.
"""

from dataclasses import dataclass
from functools import lru_cache

from narrows.media import draws
from narrows.media.schedule import MOST_TURNS, SCHEDULES_KEPT, Schedule, Turn, air_ns, full_packets
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_serves, rate_steps
from narrows.spec.moving_rate import MovingRate
from narrows.units import NS_PER_S, Duration

AIFS_NS, SLOT_NS, CW_MIN = 43_000, 9_000, 15
"""Times of the access category best effort (IEEE 802.11, EDCA) in 5 GHz: SIFS 16 µs and three slots."""
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


class wifi(Medium):
    """A station and its access point. A rate that moves is read at the time that a saturated link would
    have."""

    rate: Speed = option(p.link_rate, doc='of the PHY: "120 Mbit/s", or one that moves')
    stations: int = option(p.count(0, 50), default=0, doc="others, which always have something to send")
    packets: int = option(p.count(1, MOST_PACKETS), default=32, doc="of an aggregate, at most")
    txop: str | Duration = option(
        p.positive, default="4 ms", doc="time of an aggregate, at most; others' too"
    )
    failure: str = option(p.percent, default="0 %", doc="of packets, each time they are sent")
    retries: int = option(p.count(0, 15), default=7, doc="then a packet is lost")
    seed: int = option(p.count(0), default=1)

    def check(self) -> None:
        if self["txop"].ns > LONGEST_NS:
            self.fail(f"txop: {self['txop']}", f"at most {Duration(LONGEST_NS)}, as 802.11 allows")
        if self["failure"] > 90:
            self.fail(f"failure: of {self['failure']:g} % hardly anything arrives", "at most 90 %")
        if isinstance(self["rate"], MovingRate) and min(bps for _, bps in self["rate"].steps) < 10**6:
            self.fail("rate: a PHY does not go below 1 Mbit/s", "a trace without outages")
        self._made = {way: check_serves(self, self._schedule(way), way) for way in self.ways}
        if any(len(made.turns) >= MOST_TURNS for made in self._made.values()):
            self.fail(f"rate: all of it takes over {MOST_TURNS} turns", "a shorter trace")

    def schedule(self, way: str) -> Schedule:
        return self._made[way]

    def _schedule(self, way: str) -> Schedule:
        rate = self["rate"]
        period_ns = 60 * NS_PER_S
        if isinstance(rate, MovingRate):
            period_ns = rate.period_ns or max(period_ns, rate.steps[-1][0])
        names = ("stations", "packets", "retries")
        cell = Cell(
            txop_ns=self["txop"].ns, failure=self["failure"] / 100, **{name: self[name] for name in names}
        )
        return schedule(cell, rate_steps(rate, period_ns), period_ns, self["seed"], way)
