"""The criteria of RFC 9438 that a window shows: its reductions, its curve, Reno's region, slow start.

The bounds are the document's own values; what is measured is allowed what samples of 10 ms and whole packets
leave open.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from narrows.judging.items import Read
from narrows.judging.judge import Measure, Share
from narrows.judging.marks import Mark
from narrows.runs.observed import Observed
from narrows.spec import Link, bfifo, bulk, codel
from narrows.standards import reads
from narrows.standards.reads import Epoch
from narrows.standards.suite import Criteria, Scene, Suite, Who, median

BETA, C = 0.7, 0.4
"""Sections 4.6 and 5, in packets and s."""
ALPHA = 3 * (1 - BETA) / (1 + BETA)
"""Section 4.3: what Reno's estimate grows by in a round trip."""
OFF = 0.03


def long(who: Who) -> Mapping[str, Any]:
    link = Link(rate="25 Mbit/s", base_rtt="100 ms", queue=bfifo(limit="1 BDP"))
    return {"link": link, "flow": who.flow(duration="60 s")}


def small(who: Who) -> Mapping[str, Any]:
    link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="2 BDP"))
    return {"link": link, "flow": who.flow(duration="30 s")}


def marks(who: Who) -> Mapping[str, Any]:
    link = Link(rate="25 Mbit/s", base_rtt="100 ms", queue=codel(ecn=True))
    return {"link": link, "flow": who.flow(duration="40 s", ecn=True)}


def gone(who: Who) -> Mapping[str, Any]:
    link = Link(rate="25 Mbit/s", base_rtt="100 ms", queue=bfifo(limit="1 BDP"))
    link.at("20 s", loss="100 %")
    link.at("22 s", loss="0 %")
    return {"link": link, "flow": who.flow(duration="40 s")}


def two(who: Who) -> Mapping[str, Any]:
    return {
        "link": Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit="1 BDP")),
        "flows": who.flows(2, 2, stop="60 s"),
    }


def reno(who: Who) -> Mapping[str, Any]:
    link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="2 BDP"))
    return {"link": link, "flow": who.flow(stop="60 s"), "other": bulk(cca="reno", stop="60 s")}


def reduced(run: Observed) -> float | None:
    """The median of what reductions leave of the window."""
    parts = [each.after / each.before for each in reads.epochs(run, 2.0)]
    return float(np.median(parts)) if parts else None


def curve(fast: bool) -> Read:
    """How far the window is from the curve (4.2), as a part of it: the median over the epochs whose W_max is
    the window before them, or, `fast`, that of a smaller one, so W_max is less (4.7)."""

    def read(run: Observed) -> float | None:
        last, found = 0.0, []
        for each in reads.epochs(run):
            is_fast, last_before = each.before < last, last
            last = each.before * (1 + BETA) / 2 if is_fast else each.before
            if last_before and is_fast == fast:
                found.append(_off(each, last))
        return float(np.median(found)) if found else None

    return read


def _off(each: Epoch, most: float) -> float:
    t = each.t_s - each.rtt_s  # recovery takes a round trip
    known = t > 0
    if not known.any():
        return float("inf")
    k = np.cbrt(max(most - each.after, 0.0) / C)
    expected = C * (t[known] - k) ** 3 + most
    return float(np.median(np.abs(each.cwnd[known] / expected - 1)))


def grows(run: Observed) -> float | None:
    """The median of what the window grows by in a round trip, from a reduction to the next."""
    found = [
        (each.cwnd[-1] - each.after) / (each.t_s[-1] / each.rtt_s)
        for each in reads.epochs(run, 3.0)
        if each.t_s[-1] > 4 * each.rtt_s
    ]
    return float(np.median(found)) if found else None


_ = Criteria()
LEFT = Share("what a reduction leaves of the window", read=reduced, take=median)
AROUND = (Mark("0.7, give or take 0.02", LEFT.name, least=BETA - 0.02, most=BETA + 0.02),)
_.add("U1", "A loss leaves 0.7 of the window", "4.6", "long", (LEFT,), AROUND)
CURVE = Share("distance from the curve", read=curve(False), take=median)
_.add(
    "U2", "The window follows W(t) = 0.4 (t - K)³ + W_max", "4.2", "long", (CURVE,),
    (Mark("within 3 % of the curve", CURVE.name, most=OFF),),
)  # fmt: skip
FAST = Share("distance from the curve of the smaller W_max", read=curve(True), take=median)
_.add(
    "U3", "Where the window was smaller than the last time, W_max is 0.85 of it", "4.7", "long", (FAST,),
    (Mark("within 3 % of the curve", FAST.name, most=OFF),),
)  # fmt: skip
SLOPE = Measure("packets that a window grows by in a round trip", "", grows, take=median)
_.add(
    "U4", "Where Reno would be quicker, it grows as Reno", "4.3", "small", (SLOPE,),
    (Mark("at least 0.53, give or take a tenth, and no more than Reno itself", SLOPE.name, least=0.9 * ALPHA, most=1.25),),
)  # fmt: skip
AGAIN = Measure("back at 90 % of the link after a timeout", "s", reads.reached_s("flow", 0.9, 22, 40), take=median)
_.add(
    "U5", "After a timeout slow start regains the link", "4.8", "gone", (AGAIN,),
    (Mark("within 8 s: the timer's last doubling, and slow start", AGAIN.name, most=8.0),),
)  # fmt: skip
OVER = Share("losses in the first 3 s", read=reads.lost(0, 3), take=median)
_.add(
    "U6", "Slow start ends before it floods the queue (HyStart++, or another way)", "4.10", "long", (OVER,),
    (Mark("at most 2 % are lost", OVER.name, most=0.02),),
)  # fmt: skip
_.add("U7", "A mark leaves 0.7 of the window", "4.6, RFC 3168", "marks", (LEFT,), AROUND)
FAIR = Measure("Jain's index", "", reads.jain(("flows-0", "flows-1"), 20, 60), take=median)
_.add(
    "U8", "Two flows of it share the link", "5.8", "two", (FAIR,),
    (Mark("Jain's index at least 0.9", FAIR.name, least=0.9),),
)  # fmt: skip
BESIDE = Share("its part of the link", read=reads.share("flow", 10, 60), take=median)
_.add(
    "U9", "Shares with Reno where Reno works well", "5.1", "reno", (BESIDE,),
    (Mark("between a third and two thirds", BESIDE.name, least=1 / 3, most=2 / 3),),
)  # fmt: skip
_.cannot("U10", "After idle time the window does not leap", "4.2", "no flow here falls idle and begins again")

SUITE = Suite(
    "cubic", "CUBIC for Fast and Long-Distance Networks", "RFC 9438",
    (
        Scene("long", "Does the window follow the curve?", long, alone=True),
        Scene("small", "Does it grow as Reno where that is quicker?", small, alone=True),
        Scene("marks", "Does it answer marks as losses?", marks, alone=True),
        Scene("gone", "Does it come back after a timeout?", gone, alone=True),
        Scene("two", "Do two flows share?", two, alone=True),
        Scene("reno", "Does it share with Reno?", reno, alone=True),
    ),
    tuple(_.made), cca="cubic",
)  # fmt: skip
