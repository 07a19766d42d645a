"""Low Earth orbit: frames of one length, and every so often another satellite.

At a reallocation nothing is sent for a while, then frames are lost for a while, and the way is longer or
shorter than before: by a draw between 0 and `spread_ns`, one way. Packets stay in order. The last satellite
is the first one of the next round, so that beginning again is no change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from narrows.media import draws
from narrows.media.frames import without_empty
from narrows.media.schedule import SCHEDULES_KEPT, Schedule, Turn
from narrows.units import NS_PER_S


@dataclass(frozen=True)
class Orbit:
    """What the schedule is drawn from."""

    frame_ns: int
    every_ns: int
    first_ns: int
    gap_ns: int
    loss_ns: int
    spread_ns: int
    length_ns: int


@lru_cache(maxsize=SCHEDULES_KEPT)
def schedule(orbit: Orbit, steps: tuple[tuple[int, int], ...], seed: int, way: str) -> Schedule:
    """One way; steps are the rate over time."""
    draw, rate = draws.of("satellite", seed, way), draws.rate_at(steps)
    longer = [int(draw.random() * orbit.spread_ns) for _ in range(orbit.length_ns // orbit.every_ns)]
    turns = []
    for n in range(orbit.length_ns // orbit.frame_ns):
        at_ns = (n + 1) * orbit.frame_ns
        place, since_ns = divmod(at_ns - orbit.first_ns + orbit.every_ns, orbit.every_ns)
        is_new = place > 0
        size = rate(at_ns) * orbit.frame_ns // (8 * NS_PER_S)
        if is_new and since_ns < orbit.gap_ns:
            size = 0
        lost = is_new and orbit.gap_ns <= since_ns < orbit.gap_ns + orbit.loss_ns
        turns.append(Turn(orbit.frame_ns, size, orbit.frame_ns + longer[place % len(longer)], lost=int(lost)))
    made, whole_ns = without_empty(turns, orbit.length_ns)
    return Schedule(made, whole_ns, splits=True)
