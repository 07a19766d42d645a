"""hhf: heavy hitters wait behind the others."""

from collections.abc import Mapping
from typing import Any

from narrows.tc import options as tc
from narrows.tc.limit import S32
from narrows.tc.options import Bytes, QueuePackets, Time
from narrows.tc.qdisc import Qdisc, QueueContext


class hhf(Qdisc):
    """Heavy-hitter filter: flows that sent much wait behind the others, in a second drop-head queue."""

    title, colour, order = "HHF", "#1b7837", 13
    keeps_time = True
    # net/sched/sch_hhf.c, hhf_enqueue, up to 7.2: it drops a packet of another size than the one that comes.
    miscounts_above = True

    limit: QueuePackets = tc.packets(1000, 1)
    quantum: Bytes = tc.quantum(2, highest=S32 // 2, ours="more than any queue of frames needs")
    hh_limit: int = tc.count(2048, 3, highest=2048)
    reset_timeout: Time = tc.timer("40 ms", 4)
    admit_bytes: Bytes = tc.size("128 KiB", 5)
    evict_timeout: Time = tc.timer("1 s", 6)
    non_hh_weight: int = tc.count(2, 7, highest=S32 // 1514, ours="its product with the quantum has 31 bits")

    def check_together(self, values: Mapping[str, Any], context: QueueContext) -> None:
        quantum = values["quantum"].bytes if values["quantum"] is not None else context.frame_bytes
        if quantum * values["non_hh_weight"] > S32:
            self.fail(f"quantum × non_hh_weight is {quantum * values['non_hh_weight']}", f"at most {S32}")
