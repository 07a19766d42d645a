"""Responsiveness under working conditions (draft-ietf-ippm-responsiveness)."""

from collections.abc import Sequence

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic
from narrows.spec.under_test import UnderTest
from narrows.units import NS_PER_S, Rate, Size

INTERVAL_NS = {"draft-09": 5 * NS_PER_S, "draft-08": NS_PER_S, "go": NS_PER_S}
SOONEST_INTERVALS = 11
"""A constant goodput is stable at the seventh interval, a constant responsiveness four later."""
SLACK_NS = 30 * NS_PER_S
"""For the configuration and the probes of the idle path."""


class rpm(Traffic):
    """Round trips per minute under load: connections are added until goodput and RPM are stable."""

    variant: str = option(
        p.choice("draft-09", "draft-08", "go"),
        default="draft-09",
        doc="intervals of 5 s, of 1 s, or goresponsiveness' pace and rule of stability",
    )
    tests: str | Sequence[str] = option(p.words("download", "upload"), default=("download", "upload"))
    parallel: bool = option(p.flag, default=False, doc="both ways at once instead of one after the other")
    tls: bool = option(p.flag, default=True, doc="False: HTTP/2 in the clear, the draft's TCP-only case")
    cca: str | None = option(
        p.optional(p.cca), default=None, doc="of client and server; None: the hosts' own"
    )
    stage_intervals: int = option(p.count(maximum=1000), default=12, doc="most intervals of each stage")
    idle_probes: int = option(p.count(minimum=0, maximum=1000), default=10)
    notsent_lowat: str | Size = option(
        p.size_or_zero,
        default="16 KiB",
        doc="TCP_NOTSENT_LOWAT of both ends, as the draft asks; 0: the whole send buffer",
    )
    coalesce: Time = option(
        p.optional(p.microseconds),
        default=None,
        doc="sockets are looked at no more often than this; None: 0 up to 200 Mbit/s, else 100 us",
    )
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 4043")
    time_limit: Time = option(p.optional(p.positive), default=None, doc="None: what the stages may take")

    def check(self) -> None:
        super().check()
        if self["parallel"] and len(self["tests"]) != 2:
            self.fail("parallel means both ways", "leave tests out")

    def takes(self, rates: Sequence[Rate]) -> tuple[int, int] | None:
        own = INTERVAL_NS[self["variant"]] * (1 if self["parallel"] else len(self["tests"]))
        return own * SOONEST_INTERVALS, self.limited(own * 2 * self["stage_intervals"] + SLACK_NS)


UNDER_TEST = {
    "rpm": UnderTest(
        rpm,
        variations={"08": {"variant": "draft-08"}, "go": {"variant": "go"}, "parallel": {"parallel": True}},
    )
}
