"""The medium `docsis`: a cable modem's way up."""

from __future__ import annotations

from narrows.media import docsis as model
from narrows.media.schedule import Schedule
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_serves
from narrows.units import Duration


class docsis(Medium):
    """Upstream by request and grant: `Link(rate="500 Mbit/s", medium_up=docsis(rate="50 Mbit/s"))`."""

    rate: Speed = option(p.rate)
    map: str | Duration = option(p.positive, default="2 ms", doc="from one MAP to the next")
    grant_maps: int = option(p.count(1, 256), default=3, doc="MAPs from a request to its grant")

    ways = ("up",)

    def schedule(self, way: str) -> Schedule:
        return model.schedule(self["rate"].bps, self["map"].ns, self["grant_maps"])

    def check(self) -> None:
        made = self.schedule("up")
        if not made.turns[0].bytes:
            self.fail(f"at {self['rate']} no byte passes in {self['map']}", "a higher rate, or a longer map")
        check_serves(self, made, "up")
