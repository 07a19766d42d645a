"""UDP capacity after RFC 9097 and TR-471."""

from collections.abc import Sequence

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic
from narrows.spec.under_test import UnderTest
from narrows.units import Duration


class udp_capacity(Traffic):
    """Maximum IP-layer capacity: UDP load whose rate is searched (type B) by its loss, reordering and one-way
    delay variation; the best second is the result."""

    tests: str | Sequence[str] = option(p.words("download", "upload"), default=("download", "upload"))
    test_length: Time = option(p.whole_seconds, default="10 s", doc="of one direction")
    tolerated: int = option(p.count(0, 1_000_000), default=10, doc="anomalies per report of 50 ms")
    lower: Time = option(p.duration, default="30 ms", doc="below this delay variation the rate climbs")
    upper: Time = option(p.duration, default="90 ms", doc="above it the rate falls")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 24601")
    time_limit: Time = option(p.positive, default="120 s")

    def check(self) -> None:
        super().check()
        if not Duration(2_000_000_000) <= self["test_length"] <= Duration(60_000_000_000):
            self.fail(f"test_length: from 2 s to 60 s, not {self['test_length']}")
        if self["upper"] < self["lower"]:
            self.fail(f"upper ({self['upper']}) is below lower ({self['lower']})")


UNDER_TEST = {
    "udp_capacity": UnderTest(
        udp_capacity,
        variations={"T0": {"tolerated": 0}, "20s": {"test_length": "20 s"}, "5s": {"test_length": "5 s"}},
    )
}
