"""fq_pie: flow queues with PIE."""

from typing import ClassVar

from narrows.tc import options as tc
from narrows.tc.limit import Limit
from narrows.tc.options import Bytes, QueuePackets, Time
from narrows.tc.qdisc import Qdisc


class fq_pie(Qdisc):
    """Flow queues with PIE."""

    title, colour, order = "FQ-PIE", "#a6761d", 9
    is_per_flow = keeps_time = True
    # tc_fq_pie_xstats: ecn_mark
    tells: ClassVar = {"marks": (16,)}

    limit: QueuePackets = tc.packets(10240, 1)
    flows: int = tc.count(1024, 2, highest=65536)
    target: Time = tc.pie_target("15 ms", 3)
    tupdate: Time = tc.timer("15 ms", 4)
    alpha: int = tc.count(2, 5, highest=32)
    beta: int = tc.count(20, 6, highest=32)
    quantum: Bytes = tc.quantum(7)
    memory_limit: Bytes = tc.size("32 MiB", 8, packet=True)
    ecn_prob: str = tc.share("10 %", 9, Limit(0, 99, "%", whole=True), text=tc.plain)
    ecn: bool = tc.flag(False, 10, off="noecn")
    bytemode: bool = tc.flag(False, 11, off="nobytemode")
    dq_rate_estimator: bool = tc.flag(False, 12, off="no_dq_rate_estimator")

    def check(self) -> None:
        if "ecn_prob" in self.given and not self["ecn"]:
            self.fail("ecn_prob is up to which probability packets are marked, and ecn is off", "ecn=True")
