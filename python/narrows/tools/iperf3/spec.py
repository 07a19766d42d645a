"""iperf3, over TCP or UDP."""

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic
from narrows.spec.under_test import UnderTest
from narrows.units import Rate, Size


class iperf3(Traffic):
    """iperf3, a TCP or UDP test over one or more connections. It takes whole seconds only."""

    needs_end = True

    direction: str = option(p.choice("down", "up", "both"), default="down")
    duration: Time = option(p.optional(p.whole_seconds), default=None)
    omit: Time = option(
        p.whole_seconds, default="0 s", doc="start of the test that is left out of the result"
    )
    flows: int = option(p.count(1, 128), default=1)
    cca: str | None = option(p.optional(p.cca), default=None, doc="None: cubic for TCP")
    bytes: str | Size | None = option(p.optional(p.size), default=None)
    udp_rate: str | Rate | None = option(
        p.optional(p.rate), default=None, doc="UDP at this rate instead of TCP"
    )
    rate: str | Rate | None = option(
        p.optional(p.rate), default=None, doc="the most that each TCP connection sends (-b)"
    )
    mss: str | Size | None = option(p.optional(p.size), default=None, doc="of TCP (-M); checked")
    length: str | Size | None = option(
        p.optional(p.size), default=None, doc="of each write, or of each UDP datagram (-l)"
    )
    window: str | Size | None = option(p.optional(p.size), default=None, doc="of TCP's buffers (-w)")
    l4s: bool = option(
        p.flag, default=False, doc="ECT(1) in place of ECT(0), for the L queue; needs cca='dctcp'"
    )
    interval: Time = option(p.iperf3_interval, default="1 s", doc="of its own reports")
    dscp: str | int = option(p.dscp, default="CS0")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 5201 and up")
    time_limit: Time = option(p.optional(p.positive), default=None)

    def check(self) -> None:
        super().check()
        if self["udp_rate"] is not None and self["cca"] is not None:
            self.fail("UDP has no congestion control", "leave out cca or udp_rate")
        for name in ("rate", "mss"):
            if self["udp_rate"] is not None and self[name] is not None:
                self.fail(f"{name} is of TCP, and udp_rate asks for UDP", f"leave out {name} or udp_rate")
        if self["length"] is not None and self["length"].bytes > 2**20:
            self.fail(f"length: iperf3 writes at most 1 MiB at once, not {self['length']}", '"1 MiB"')
        if self["mss"] is not None and not 88 <= self["mss"].bytes <= 9216:
            self.fail(f"mss: Linux takes 88 to 9216 bytes, not {self['mss']}", '"1200 B"')
        if self["bytes"] is not None and self["duration"] is not None:
            self.fail("iperf3 takes bytes or duration, not both", "leave one out")
        if self["dscp"] and self["direction"] == "both":
            self.fail(
                "iperf3's server does not mark what it sends, so only one direction would have the DSCP",
                'two items, one with direction="down" and one with direction="up"',
            )
        p.check_l4s(self)

    def ends_by_itself(self) -> bool:
        return super().ends_by_itself() or self["bytes"] is not None

    def own_ns(self) -> int | None:
        own_ns = super().own_ns()
        return None if own_ns is None else own_ns + self["omit"].ns


UNDER_TEST = {
    "iperf3": UnderTest(
        iperf3,
        {"duration": "10 s", "interval": "1 s"},
        {
            "P4": {"flows": 4},
            "P8": {"flows": 8},
            "O3": {"omit": "3 s"},
            "30s": {"duration": "30 s"},
            "P4-O3": {"flows": 4, "omit": "3 s"},
        },
    )
}
