"""The medium `wifi`: aggregates, contenders, block acknowledgements, retries; both ways share the air."""

from __future__ import annotations

from narrows.media import wifi as model
from narrows.media.schedule import MOST_TURNS, Schedule
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.media.base import Medium, Speed, check_serves, rate_steps
from narrows.spec.moving_rate import MovingRate
from narrows.units import NS_PER_S, Duration


class wifi(Medium):
    """A station and its access point. A rate that moves is read at the time that a saturated link would
    have."""

    rate: Speed = option(p.link_rate, doc='of the PHY: "120 Mbit/s", or one that moves')
    stations: int = option(p.count(0, 50), default=0, doc="others, which always have something to send")
    packets: int = option(p.count(1, model.MOST_PACKETS), default=32, doc="of an aggregate, at most")
    txop: str | Duration = option(
        p.positive, default="4 ms", doc="time of an aggregate, at most; others' too"
    )
    failure: str = option(p.percent, default="0 %", doc="of packets, each time they are sent")
    retries: int = option(p.count(0, 15), default=7, doc="then a packet is lost")
    seed: int = option(p.count(0), default=1)

    def check(self) -> None:
        if self["txop"].ns > model.LONGEST_NS:
            self.fail(f"txop: {self['txop']}", f"at most {Duration(model.LONGEST_NS)}, as 802.11 allows")
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
        cell = model.Cell(
            txop_ns=self["txop"].ns, failure=self["failure"] / 100, **{name: self[name] for name in names}
        )
        return model.schedule(cell, rate_steps(rate, period_ns), period_ns, self["seed"], way)
