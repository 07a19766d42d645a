"""cake: common applications kept enhanced, which shapes by itself."""

from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.tc import options as tc
from narrows.tc.limit import Limit
from narrows.tc.options import Bytes, Number, Time, Words
from narrows.tc.place import Place, Value, attributes
from narrows.tc.qdisc import Qdisc, QueueContext
from narrows.units import Duration, Rate, Size

OVERHEADS = {
    "conservative": (48, "atm", 0), "pppoa-vcmux": (10, "atm", 0), "pppoa-llc": (14, "atm", 0),
    "pppoe-vcmux": (32, "atm", 0), "pppoe-llcsnap": (40, "atm", 0), "bridged-vcmux": (24, "atm", 0),
    "bridged-llcsnap": (32, "atm", 0), "ipoa-vcmux": (8, "atm", 0), "ipoa-llcsnap": (16, "atm", 0),
    "pppoe-ptm": (30, "ptm", 0), "bridged-ptm": (22, "ptm", 0), "docsis": (18, "noatm", 64),
    "ethernet": (38, "noatm", 84),
}  # fmt: skip
"""CAKE's words for what a line adds to an IP packet (tc-cake(8)): bytes, cells, the least that is counted."""
RTTS = {
    "datacentre": "100 us", "lan": "1 ms", "metro": "10 ms", "regional": "30 ms", "internet": "100 ms",
    "oceanic": "300 ms", "satellite": "1 s",
}  # fmt: skip
TINS = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
FLOWS = (
    "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate",
)  # fmt: skip


def _no_mark(value: Any) -> None:
    if value is not None:
        raise p.Wrong("no packet here has a firewall's mark, so it would never act", "leave fwmark out")


def _bandwidth(value: Any) -> Rate:
    if isinstance(value, str) and value.rstrip().endswith("%"):
        remedy = f'home_router(share="{value.strip()}", …) shapes to a share of the ISP\'s rate'
        raise p.Wrong(f"{value!r} is a share, where CAKE wants a rate", remedy)
    parsed: Rate = p.rate(value)
    return parsed


def _rtt(value: Any) -> Duration:
    if isinstance(value, str) and value.isalpha():
        return Duration.parse(RTTS[p.choice(*RTTS)(value)])
    parsed: Duration = p.microseconds(value)
    return parsed


def _overhead(value: Any) -> int | str:
    overhead: int | str = (p.choice(*OVERHEADS) if isinstance(value, str) else p.count(-64, 256))(value)
    return overhead


def _kept_overhead(raw: bytes) -> Value:
    """None where it counts what the qdisc sees (raw)."""
    return None if 12 in attributes(raw) else Place(6, form="i").number(raw)


class cake(Qdisc):
    """Common applications kept enhanced. Shapes by itself unless the link names a shaper. What it tells of
    itself is nested per tin: it is left to `tc -s -j` before and after a run."""

    title, colour, marker, order = "CAKE", "#cc79a7", "P", 14
    is_per_flow = can_shape = keeps_time = True

    bandwidth: str | Rate | None = tc.option(
        *(_bandwidth, None, Limit(8, 10**13, "bit/s", "more than any link here"), 2, "Q"),
        grain=8,
        text=lambda _: "",
        doc="default: the link's rate",
    )
    autorate_ingress: bool = tc.flag(False, 9, on="autorate-ingress")
    diffserv: str = tc.word("diffserv3", 3, TINS)
    flow_isolation: str = tc.word("triple-isolate", 5, FLOWS)
    # Not "nonat", its default: a kernel without connection tracking refuses both words.
    nat: bool = tc.flag(False, 11)
    wash: bool = tc.flag(False, 13, off="nowash")
    ack_filter: bool = tc.flag(False, 16, on="ack-filter", off="no-ack-filter")
    ack_filter_aggressive: bool = tc.flag(False, None, on="ack-filter-aggressive")
    split_gso: bool = tc.flag(True, 17, on="split-gso", off="no-split-gso")
    rtt: Time = tc.time(
        *("100 ms", 7, 1), parser=_rtt, doc='a time, or CAKE\'s word: "lan", "internet", "satellite", …'
    )
    atm: str = tc.word("noatm", 4, ("noatm", "atm", "ptm"))
    overhead: int | str | None = tc.option(
        *(_overhead, None, Limit(-64, 256), Place(unit="B", reader=_kept_overhead)),
        doc='bytes per packet, or CAKE\'s word: "docsis", "pppoe-ptm", …; default: raw',
    )
    mpu: Bytes = tc.size(None, 14, lowest=0, highest=256, parser=p.size_or_zero)
    memlimit: Bytes = tc.size(None, 10, packet=True)
    ingress: bool = tc.flag(False, 15, off="egress")
    fwmark: None = option(_no_mark, default=None)

    def check(self) -> None:
        word = self["overhead"]
        if isinstance(word, str):
            for name in ("atm", "mpu"):
                if name in self.given:
                    self.fail(f"overhead={word!r} and {name} say the same twice", f"leave {name} out")
            bytes_, cells, mpu = OVERHEADS[word]
            self.values |= {"overhead": bytes_, "atm": cells, "mpu": Size(mpu) if mpu else None}
        if self["ack_filter"] and self["ack_filter_aggressive"]:
            self.fail("ack_filter and ack_filter_aggressive exclude each other")

    def words(self, context: QueueContext) -> Words:
        """All but the bandwidth, which is the shaper's business."""
        words: Words = {}
        for word, value in super().words(context).items():
            if word == self["atm"] and self["overhead"] is None:
                words["raw"] = ""  # it would take cells back: they come after it
            left_out = "noatm" if "raw" in words else None, self["ack_filter_aggressive"] and "no-ack-filter"
            if word not in left_out:
                words[word] = value
        return words

    def asked(self, context: QueueContext, shaped_to: Rate | None) -> dict[str, Number]:
        made = super().asked(context, shaped_to)
        made["bandwidth"] = 0 if shaped_to is None else shaped_to.bps
        return made | ({"ack_filter": 2} if self["ack_filter_aggressive"] else {})

    def shaping(self, rate: Rate | None) -> Words:
        return {"unlimited": ""} if rate is None else {"bandwidth": rate.tc()}

    def counted(self) -> dict[str, Any]:
        """net/sched/sch_cake.c, cake_calc_overhead."""
        return {
            "of": "frame" if self["overhead"] is None else "ip",
            "overhead_bytes": self["overhead"] or 0,
            "mpu_bytes": self["mpu"].bytes if self["mpu"] else 0,
            "cells": "none" if self["atm"] == "noatm" else self["atm"],
        }
