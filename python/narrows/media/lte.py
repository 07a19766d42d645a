"""LTE and 5G: a transport block each TTI, HARQ, and upstream a grant that was asked for.

A block that fails is sent again `harq_ns` later, in place of the block of that TTI; what came after it waits,
as RLC hands packets on in order. Nothing is sent in the `gap_ns` that end each `handover_ns`. Every block's
bytes are of the rate at its time: what retransmissions take, the rate does not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from narrows.media import draws
from narrows.media.frames import without_empty
from narrows.media.schedule import SCHEDULES_KEPT, Schedule, Turn
from narrows.units import NS_PER_S

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
