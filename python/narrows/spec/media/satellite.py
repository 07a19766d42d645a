"""The medium `satellite`: low Earth orbit below IP. (`leo` is a rate that moves, which it can be given.)"""

from __future__ import annotations

from narrows.media import satellite as model
from narrows.media.schedule import Schedule
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_count, check_serves, rate_steps
from narrows.units import Duration

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
        orbit = model.Orbit(**{f"{name}_ns": self[name].ns for name in names})
        return model.schedule(orbit, rate_steps(rate, orbit.length_ns), self["seed"], way)
