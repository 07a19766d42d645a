"""codel: controlled delay, one queue."""

from typing import ClassVar

from narrows.tc import options as tc
from narrows.tc.options import QueuePackets, Time
from narrows.tc.qdisc import Qdisc

RFC_8289 = "RFC 8289: a target of 5 to 10 % of the interval"


class codel(Qdisc):
    """Controlled delay, RFC 8289."""

    title, colour, marker, order = "CoDel", "#e69f00", "^", 4
    keeps_time = True
    # tc_codel_xstats: ldelay; ecn_mark and ce_mark
    tells: ClassVar = {"marks": (24, 32), "delay_us": (12,)}

    limit: QueuePackets = tc.packets(1000, 2)
    target: Time = tc.codel_time("5 ms", 1)
    interval: Time = tc.codel_time("100 ms", 3)
    ecn: bool = tc.flag(False, 4, off="noecn")
    ce_threshold: Time = tc.ce_threshold(5)

    def check(self) -> None:
        self.check_below("target", "interval", RFC_8289)
