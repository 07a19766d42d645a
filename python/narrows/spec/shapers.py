"""What limits the bottleneck's rate: HTB, TBF, a policer, the qdisc itself (CAKE), or nothing.

The rate is the link's; a shaper only says how it is kept.
"""

from narrows.spec.base import REQUIRED, SpecObject, option
from narrows.spec.parsers import choice, number, optional, positive, size_or_zero
from narrows.tc import options as tc
from narrows.tc.limit import U16
from narrows.tc.options import Bytes
from narrows.units import Duration, Rate

HTB_DEFAULT_BURST = "1600 B"
"""What tc computes with a high-resolution clock: rate / 10⁹ + 1600. Written out, because with a coarse clock
(HZ 1000) tc would compute 126 kB at 1 Gbit/s, and the burst is what the study is about."""


class Shaper(SpecObject):
    """How the link's rate is kept."""


class htb(Shaper):
    """Hierarchy token bucket with one class. `ceil` (or `ceil_factor` × rate) defaults to the rate."""

    burst: Bytes = tc.size(HTB_DEFAULT_BURST, None)
    cburst: Bytes = tc.size(HTB_DEFAULT_BURST, None)
    ceil: str | Rate | None = tc.rate(None, None, free=True)
    ceil_factor: float | None = option(optional(number(1)), default=None)
    burst_per_rate: str | Duration | None = option(
        optional(positive), default=None, doc="burst and cburst as what the rate sends in this time"
    )
    quantum: Bytes = tc.size(None, None, doc="no effect with one class; default: Linux' own rule")
    overhead: int = tc.count(0, None, lowest=0, highest=U16)
    mpu: Bytes = tc.size("0 B", None, lowest=0, highest=U16, parser=size_or_zero)
    linklayer: str = option(choice("ethernet", "atm", "adsl"), default="ethernet")

    def check(self) -> None:
        if self["ceil"] is not None and self["ceil_factor"] is not None:
            self.fail("ceil and ceil_factor say the same twice", "give one of them")
        both = self.given & {"burst", "cburst"}
        if self["burst_per_rate"] is not None and both:
            self.fail(
                f"burst_per_rate sets burst and cburst, but {min(both)} is given too", "give one of them"
            )


class tbf(Shaper):
    """Token bucket filter. Packets wait in the link's queue under it; where none is named, `limit` or
    `latency` is that of TBF's own FIFO in bytes."""

    burst: Bytes = tc.size(REQUIRED, None, doc='such as "15 KB"')
    limit: Bytes = tc.size(None, None)
    latency: str | Duration | None = tc.time(None, None, 1, parser=positive, ours="tc works in microseconds")
    peakrate: str | Rate | None = tc.rate(None, None, free=True)
    mtu: Bytes = tc.size(None, None, doc="burst at the peak rate; needed with peakrate")
    overhead: int = tc.count(0, None, lowest=0, highest=U16)
    mpu: Bytes = tc.size("0 B", None, lowest=0, highest=U16, parser=size_or_zero)
    linklayer: str = option(choice("ethernet", "atm", "adsl"), default="ethernet")

    def check(self) -> None:
        if self["limit"] is not None and self["latency"] is not None:
            self.fail("limit and latency say the same twice", "give one of them")
        if (self["peakrate"] is None) != (self["mtu"] is None):
            self.fail("peakrate and mtu need each other", 'peakrate="200 Mbit/s", mtu="1514 B"')

    def check_holds_nothing(self, queue: str) -> None:
        """Its own limit holds packets only where no queue is put under it."""
        for name in ("latency", "limit"):
            if self[name] is not None:
                self.fail(
                    f"{name}={self[name]} would never act: packets wait in {queue}, which is under it",
                    f"leave {name} out, and give {queue} a limit",
                )


class own_shaper(Shaper):
    """The qdisc keeps the rate by itself (CAKE). The default with `cake()`."""


class no_shaper(Shaper):
    """Nothing at the bottleneck limits the rate: packets queue only if `line_rate` is what is narrow."""


class policer(Shaper):
    """Drops what comes above the rate, and holds nothing: packets pass the queue without waiting."""

    burst: Bytes = tc.size("100 KB", None, doc="what may pass at once")
