"""pie: proportional integral controller enhanced, one queue."""

from typing import ClassVar

from narrows.tc import options as tc
from narrows.tc.options import QueuePackets, Time
from narrows.tc.qdisc import Qdisc


class pie(Qdisc):
    """Proportional integral controller enhanced, RFC 8033."""

    title, colour, marker, order = "PIE", "#d55e00", "v", 7
    keeps_time = True
    # tc_pie_xstats: prob as a fraction of 2^64, delay, ecn_mark
    tells: ClassVar = {"marks": (36,), "probability": (0, 64), "delay_us": (8,)}

    limit: QueuePackets = tc.packets(1000, 2)
    target: Time = tc.pie_target("15 ms", 1)
    tupdate: Time = tc.timer("15 ms", 3)
    alpha: int = tc.count(2, 4, highest=32)
    beta: int = tc.count(20, 5, highest=32)
    ecn: bool = tc.flag(False, 6, off="noecn")
    bytemode: bool = tc.flag(False, 7, off="nobytemode")
    dq_rate_estimator: bool = tc.flag(False, 8, off="no_dq_rate_estimator")
