"""The media `lte` and `nr`: a transport block each TTI, HARQ, upstream a grant that was asked for, handovers.

A block that fails is sent again `harq_ns` later, in place of the block of that TTI; what came after it waits,
as RLC hands packets on in order. Nothing is sent in the `gap_ns` that end each `handover_ns`. Every block's
bytes are of the rate at its time: what retransmissions take, the rate does not have.
"""

from dataclasses import dataclass
from functools import lru_cache

from narrows.media import draws
from narrows.media.frames import without_empty
from narrows.media.schedule import SCHEDULES_KEPT, Schedule, Turn
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_count, check_serves, rate_steps, whole
from narrows.units import NS_PER_S, Duration

MOST_TRIES = 4
"""A block's, as base stations are usually set; then it counts as received, by RLC."""
HEADER_BYTES = 5
"""PDCP, RLC and MAC, of a packet."""


@dataclass(frozen=True)
class Cell:
    """What the schedule is drawn from."""

    tti_ns: int
    bler: float
    harq_ns: int
    grant_ns: int
    handover_ns: int
    """From one handover to the next; 0: none."""
    gap_ns: int
    length_ns: int


@lru_cache(maxsize=SCHEDULES_KEPT)
def schedule(cell: Cell, steps: tuple[tuple[int, int], ...], seed: int, way: str) -> Schedule:
    """One way; steps are the rate over time."""
    draw, rate = draws.of("lte", seed, way), draws.rate_at(steps)
    count, later = cell.length_ns // cell.tti_ns, cell.harq_ns // cell.tti_ns
    taken = set[int]()
    turns: list[Turn] = []
    for n in range(count):
        begin_ns, at_ns = n * cell.tti_ns, (n + 1) * cell.tti_ns
        fails = 0
        while draw.random() < cell.bler and fails < MOST_TRIES - 1:
            fails += 1
        away = cell.handover_ns and begin_ns % cell.handover_ns >= cell.handover_ns - cell.gap_ns
        size = rate(at_ns) * cell.tti_ns // (8 * NS_PER_S)
        if away or n in taken or not size:
            turns.append(Turn(cell.tti_ns, 0, cell.tti_ns))
            continue
        taken |= {n + later * each for each in range(1, fails + 1)}
        turns.append(Turn(cell.tti_ns, size, cell.tti_ns + fails * cell.harq_ns))
    grants = cell.grant_ns // cell.tti_ns if way == "up" else 0
    # Grants are counted in turns, so those without bytes stay.
    made, whole_ns = (
        (tuple(turns), count * cell.tti_ns) if grants else without_empty(turns, count * cell.tti_ns)
    )
    return Schedule(made, whole_ns, splits=True, overhead_bytes=HEADER_BYTES, grant_turns=grants)


Time = str | Duration


class lte(Medium):
    """A base station that sends a block each TTI. Upstream a block is granted to what had asked for it."""

    rate: Speed = option(p.link_rate, doc='of first transmissions: "40 Mbit/s", or one that moves')
    rate_up: Speed = option(p.optional(p.link_rate), default=None)
    tti: Time = option(p.positive, default="1 ms", doc="time of one transport block")
    bler: str = option(p.percent, default="10 %", doc="of blocks are sent again")
    harq: Time = option(p.positive, default="8 ms", doc="until a block is sent again")
    grant: Time = option(p.duration, default="12 ms", doc="upstream, from the request to the block")
    handover: Time = option(
        p.duration, default="0 s", doc="every so often, of which length is a multiple; 0 s: never"
    )
    gap: Time = option(p.duration, default="50 ms", doc="in which nothing is sent, before a handover's end")
    seed: int = option(p.count(0), default=1)
    length: Time = option(p.positive, default="60 s", doc="then it begins again")

    def check(self) -> None:
        for name in ("harq", "grant"):
            whole(self, name, "tti")
        check_count(self, whole(self, "length", "tti"), "TTIs")
        if self["bler"] > 50:
            self.fail(f"bler: {self['bler']:g} % of blocks fail", "at most 50 %")
        if "gap" in self.given and not self["handover"]:
            self.fail("gap is how long a handover stalls, and there is none", 'handover="20 s"')
        if self["handover"] and self["gap"] >= self["handover"]:
            self.fail(f"gap ({self['gap']}) is not shorter than handover ({self['handover']})")
        if self["handover"]:
            whole(self, "length", "handover")
        if self["grant"].ns // self["tti"].ns > 256:
            self.fail(f"grant: {self['grant']} are over 256 TTIs", "a shorter grant")
        self._made = {way: check_serves(self, self._schedule(way), way) for way in self.ways}

    def schedule(self, way: str) -> Schedule:
        return self._made[way]

    def _schedule(self, way: str) -> Schedule:
        rate = self["rate_up"] if way == "up" and self["rate_up"] is not None else self["rate"]
        ns = {f"{name}_ns": self[name].ns for name in ("tti", "harq", "grant", "handover", "gap", "length")}
        cell = Cell(bler=self["bler"] / 100, **ns)
        return schedule(cell, rate_steps(rate, cell.length_ns), self["seed"], way)


class nr(lte):
    """5G: as `lte`, with shorter slots and faster answers."""

    tti: Time = option(p.positive, default="500 us")
    harq: Time = option(p.positive, default="4 ms")
    grant: Time = option(p.duration, default="5 ms")
