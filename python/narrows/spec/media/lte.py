"""The media `lte` and `nr`: blocks, HARQ, grants, handovers."""

from __future__ import annotations

from narrows.media import lte as model
from narrows.media.schedule import Schedule
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_count, check_serves, rate_steps, whole
from narrows.units import Duration

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
        names = ("tti", "harq", "grant", "handover", "gap", "length")
        ns = {f"{name}_ns": self[name].ns for name in names}
        cell = model.Cell(bler=self["bler"] / 100, **ns)
        return model.schedule(cell, rate_steps(rate, cell.length_ns), self["seed"], way)


class nr(lte):
    """5G: as `lte`, with shorter slots and faster answers."""

    tti: Time = option(p.positive, default="500 us")
    harq: Time = option(p.positive, default="4 ms")
    grant: Time = option(p.duration, default="5 ms")
