"""fq_codel: flow queues with CoDel."""

from typing import ClassVar

from narrows.qdiscs.codel import RFC_8289
from narrows.spec.parsers import choice
from narrows.tc import options as tc
from narrows.tc.options import Bytes, QueuePackets, Time
from narrows.tc.place import masked
from narrows.tc.qdisc import Qdisc


class fq_codel(Qdisc):
    """Flow queues with CoDel, RFC 8290."""

    title, colour, marker, order = "FQ-CoDel", "#0072b2", "s", 5
    is_per_flow = keeps_time = True
    # tc_fq_codel_xstats: type (0: of the qdisc, not of a class); ecn_mark and ce_mark
    tells: ClassVar = {"of": (0,), "marks": (12, 28)}

    limit: QueuePackets = tc.packets(10240, 2)
    flows: int = tc.count(1024, 5, highest=65536)
    target: Time = tc.codel_time("5 ms", 1)
    interval: Time = tc.codel_time("100 ms", 3)
    quantum: Bytes = tc.quantum(6)
    memory_limit: Bytes = tc.size("32 MiB", 9, highest=2**31, packet=True)
    drop_batch: int = tc.count(64, 8)
    ecn: bool = tc.flag(True, 4, off="noecn")
    ce_threshold: Time = tc.ce_threshold(7)
    ce_threshold_selector: str | None = tc.option(
        choice("0x01/0x03", "0x02/0x03", "0x03/0x03"), None, None, masked(10, 11)
    )

    def check(self) -> None:
        self.check_below("target", "interval", RFC_8289)
        if self["ce_threshold_selector"] is not None and self["ce_threshold"] is None:
            self.fail(
                "ce_threshold_selector chooses for ce_threshold, and there is none", 'ce_threshold="1 ms"'
            )
