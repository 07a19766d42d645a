"""dualpi2: the dual queue of L4S."""

from typing import Any, ClassVar

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.tc import options as tc
from narrows.tc.limit import Limit
from narrows.tc.options import Bytes, QueuePackets, Time
from narrows.tc.qdisc import Qdisc

NQB_TOS = "0xb4/0xfc"
"""DSCP 45, whatever the ECN bits."""


def _factor(at: int, ours: str) -> Any:
    """Kept in 256ths of a hertz."""
    within = Limit(1 / 256, 256, ours=ours)
    return tc.option(p.number(0, 256), None, within, at, scale=1 / 256, grain=1 / 256)


class dualpi2(Qdisc):
    """DualQ coupled AQM for L4S, RFC 9332. Setting an option needs a tc of iproute2 6.17 or newer; the
    defaults are the kernel's, and a tc without DualPI2 can make it so."""

    title, colour, marker, order = "DualPI2", "#56b4e9", "X", 15
    keeps_time = True
    # tc_dualpi2_xstats: prob as a fraction of 2^32, delay_c, delay_l, packets_in_c, packets_in_l, maxq,
    # ecn_mark, step_marks (which are among ecn_mark)
    tells: ClassVar = {
        "marks": (24,), "probability": (0, 32), "delay_us": (4,),
        "packets_c": (12,), "packets_l": (16,), "step_marks": (28,), "delay_l_us": (8,),
    }  # fmt: skip

    limit: QueuePackets = tc.packets(None, 1)
    memory_limit: Bytes = tc.size(None, 2, packet=True, word="memlimit")
    target: Time = tc.time(None, 3)
    tupdate: Time = tc.time(None, 4)
    alpha: float | None = _factor(5, "RFC 9332 has 0.16")
    beta: float | None = _factor(6, "RFC 9332 has 3.2")
    step_thresh: Time = tc.time(None, 8)
    min_qlen_step: int | None = tc.count(None, 9, lowest=0)
    coupling_factor: int | None = tc.count(None, 10, "B", highest=255)
    overload: str | None = tc.word(None, 11, ("overflow", "drop"), "B", "overflow", "drop_on_overload")
    drop_at: str | None = tc.word(None, 12, ("dequeue", "enqueue"), "B", "drop_dequeue", "drop_enqueue")
    c_protection: str | None = tc.share(
        None, 13, Limit(0, 100, "%"), "B", text=lambda value: f"{value:g}%", word="classic_protection"
    )
    classic_ecn: bool | None = tc.flag(
        *(None, 14, "B"), mask=2, on="any_ect", off="l4s_ect",
        doc="True: every ECN-capable packet uses the L queue",
    )  # fmt: skip
    split_gso: bool | None = tc.flag(None, 15, "B", off="no_split_gso")
    nqb: bool = option(
        p.flag, default=False, doc="True: a filter puts DSCP 45 (NQB) into the L queue; Linux alone does not"
    )

    def classes(self) -> list[tuple[str, int]]:
        """Class 2 is its L queue for traffic that is not L4S."""
        return [(NQB_TOS, 2)] if self["nqb"] else []
