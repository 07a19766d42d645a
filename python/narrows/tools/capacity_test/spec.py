"""An operator's capacity test: parallel TCP connections, the ramp omitted, each direction in turn."""

from collections.abc import Sequence
from typing import Literal

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import CLIENT_SLACK_NS, DEFAULT_JITTER, Time, Traffic
from narrows.spec.under_test import UnderTest
from narrows.units import Rate


class capacity_test(Traffic):
    """The aggregate bandwidth test that an operator embeds into home gateways: iperf3 over TCP with parallel
    connections; what they carry after the omitted ramp is the result. After Ledesma and Livingood (IETF 123,
    ICCRG), who name the parameters and not their values: the defaults are ours."""

    direction: str = option(p.choice("both-in-turn", "down", "up"), default="both-in-turn")
    connections: int = option(p.count(1, 128), default=4)
    omit: Time = option(p.whole_seconds, default="3 s", doc="ramp that is left out of the result")
    duration: Time = option(p.whole_seconds, default="10 s", doc="of one direction, the ramp not counted")
    pause: Time = option(p.duration, default="1 s", doc="between the two directions")
    cca: str = option(p.cca, default="cubic")
    advertised: str | Rate | None = option(
        p.optional(p.rate), default=None, doc="advertised speed down; None: the link's rate"
    )
    advertised_up: str | Rate | None = option(p.optional(p.rate), default=None, doc="None: the link's rate")
    interval: Time = option(p.iperf3_interval, default="1 s", doc="of its series")
    dscp: str | int = option(p.dscp, default="CS0")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 5201 and up")
    time_limit: Time = option(p.optional(p.positive), default=None)

    def directions(self) -> tuple[Literal["down", "up"], ...]:
        """In the order in which they run."""
        return ("down", "up") if self["direction"] == "both-in-turn" else (self["direction"],)

    def takes(self, rates: Sequence[Rate]) -> tuple[int, int] | None:
        tests = len(self.directions())
        own = tests * (self["omit"].ns + self["duration"].ns) + (tests - 1) * self["pause"].ns
        return own, self.limited(own + tests * CLIENT_SLACK_NS)


UNDER_TEST = {
    "capacity_test": UnderTest(
        capacity_test,
        variations={
            "P1": {"connections": 1},
            "P8": {"connections": 8},
            "O0": {"omit": "0 s"},
            "30s": {"duration": "30 s"},
        },
    )
}
