"""The medium `satellite`: low Earth orbit, frames of one length, and every so often another satellite.
(`leo` is a rate that moves, which it can be given.)

At a reallocation nothing is sent for a while, then frames are lost for a while, and the way is longer or
shorter than before: by a draw between 0 and `spread_ns`, one way. Packets stay in order. The last satellite
is the first one of the next round, so that beginning again is no change.
"""

from dataclasses import dataclass
from functools import lru_cache

from narrows.media import draws
from narrows.media.frames import without_empty
from narrows.media.schedule import SCHEDULES_KEPT, Schedule, Turn
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_count, check_serves, rate_steps
from narrows.units import NS_PER_S, Duration


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


Time = str | Duration


class satellite(Medium):
    """Frames of one length; every 15 s another satellite: a gap, a burst of loss, another delay."""

    rate: Speed = option(p.link_rate, doc='"100 Mbit/s", or one that moves: leo(mean="100 Mbit/s")')
    rate_up: Speed = option(p.optional(p.link_rate), default=None)
    frame: Time = option(p.positive, default="1333 us")
    every: Time = option(p.positive, default="15 s", doc="from one reallocation to the next")
    first: Time = option(p.duration, default="12 s", doc="when the first one is")
    gap: Time = option(p.duration, default="40 ms", doc="in which nothing is sent")
    loss: Time = option(p.duration, default="10 ms", doc="after the gap, in which what is sent is lost")
    spread: Time = option(p.duration, default="10 ms", doc="most that a way is longer, drawn at each")
    seed: int = option(p.count(0), default=1)
    length: Time = option(p.positive, default="60 s", doc="then it begins again")

    def check(self) -> None:
        if self["gap"].ns + self["loss"].ns >= self["every"].ns:
            self.fail(
                f"gap and loss take {self['gap'] + self['loss']}, and every is {self['every']}",
                "shorter ones",
            )
        if self["first"].ns + self["gap"].ns + self["loss"].ns > self["every"].ns:
            self.fail(
                f"first, gap and loss end at {self['first'] + self['gap'] + self['loss']}, after every "
                f"({self['every']})",
                "the first reallocation is in the first period",
            )
        if self["length"].ns % self["every"].ns:
            self.fail(
                f"length ({self['length']}) is no multiple of every ({self['every']})", 'such as "60 s"'
            )
        check_count(self, self["length"].ns // self["frame"].ns, "frames")
        self._made = {way: check_serves(self, self._schedule(way), way) for way in self.ways}

    def schedule(self, way: str) -> Schedule:
        return self._made[way]

    def _schedule(self, way: str) -> Schedule:
        rate = self["rate_up"] if way == "up" and self["rate_up"] is not None else self["rate"]
        names = ("frame", "every", "first", "gap", "loss", "spread", "length")
        orbit = Orbit(**{f"{name}_ns": self[name].ns for name in names})
        return schedule(orbit, rate_steps(rate, orbit.length_ns), self["seed"], way)
