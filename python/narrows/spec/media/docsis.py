"""The medium `docsis`: upstream a MAP each so many ms says who sends, and a modem asks for what it has.

A request goes with the next MAP, alone where the modem was idle and on top of its data where it was not
(piggy-backed); what it asked for it may send `grant_maps` later. Collisions of requests are not drawn.
"""

from narrows.media.schedule import Schedule, Turn
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_serves
from narrows.units import NS_PER_S, Duration

HEADER_BYTES = 24
"""Ethernet header and checksum, and DOCSIS' own header."""


def schedule(rate_bps: int, map_ns: int, grant_maps: int) -> Schedule:
    """The way up."""
    size = rate_bps * map_ns // (8 * NS_PER_S)
    return Schedule(
        (Turn(map_ns, size),), map_ns, splits=True, overhead_bytes=HEADER_BYTES, grant_turns=grant_maps
    )


class docsis(Medium):
    """Upstream by request and grant: `Link(rate="500 Mbit/s", medium_up=docsis(rate="50 Mbit/s"))`."""

    rate: Speed = option(p.rate)
    map: str | Duration = option(p.positive, default="2 ms", doc="from one MAP to the next")
    grant_maps: int = option(p.count(1, 256), default=3, doc="MAPs from a request to its grant")

    ways = ("up",)

    def schedule(self, way: str) -> Schedule:
        return schedule(self["rate"].bps, self["map"].ns, self["grant_maps"])

    def check(self) -> None:
        made = self.schedule("up")
        if not made.turns[0].bytes:
            self.fail(f"at {self['rate']} no byte passes in {self['map']}", "a higher rate, or a longer map")
        check_serves(self, made, "up")
