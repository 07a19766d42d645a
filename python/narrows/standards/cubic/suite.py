"""The criteria of RFC 9438 that a window shows: its reductions, its curve, Reno's region, slow start.

The bounds are the document's own values, with what samples of 10 ms and whole packets leave open.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from narrows.judging.items import Read
from narrows.runs.observed import Observed
from narrows.spec import Link, bfifo, bulk, codel
from narrows.standards import reads
from narrows.standards.suite import Criteria, Scene, Suite, Who, limit, measured, one

BETA, C = 0.7, 0.4
"""Sections 4.6 and 5, in packets and s."""
ALPHA = 3 * (1 - BETA) / (1 + BETA)
"""Section 4.3: what Reno's estimate grows by in a round trip."""
OFF = 0.03
far = partial(one, rate="25 Mbit/s", base_rtt="100 ms")


def fifo(size: str) -> Any:
    return lambda _: bfifo(limit=size)


def two(who: Who) -> Mapping[str, Any]:
    link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit="1 BDP"))
    return {"link": link, "flows": who.flows(2, 2, stop="60 s")}


def reno(who: Who) -> Mapping[str, Any]:
    link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="2 BDP"))
    return {"link": link, "flow": who.flow(stop="60 s"), "other": bulk(cca="reno", stop="60 s")}


def reduced(run: Observed) -> float | None:
    """The median of what reductions leave of the window."""
    parts = [each.after / each.before for each in reads.epochs(run, 2.0)]
    return float(np.median(parts)) if parts else None


def curve(fast: bool) -> Read:
    """How far the window is from the curve (4.2), as a part of it: the median over the epochs whose W_max is
    the window before them, or, `fast`, those after a smaller one, whose W_max is less (4.7)."""

    def read(run: Observed) -> float | None:
        last, found = 0.0, []
        for each in reads.epochs(run):
            is_fast, is_first = each.before < last, not last
            last = each.before * (1 + BETA) / 2 if is_fast else each.before
            if not is_first and is_fast == fast:
                t = each.t_s - each.rtt_s  # recovery takes a round trip
                k = np.cbrt(max(last - each.after, 0.0) / C)
                off = np.abs(each.cwnd / (C * (t - k) ** 3 + last) - 1)[t > 0]
                found.append(float(np.median(off)) if off.size else float("inf"))
        return float(np.median(found)) if found else None

    return read


def grows(run: Observed) -> float | None:
    """The median of what the window grows by in a round trip, from a reduction to the next."""
    long = [each for each in reads.epochs(run, 3.0) if each.t_s[-1] > 4 * each.rtt_s]
    found = [(each.cwnd[-1] - each.after) / (each.t_s[-1] / each.rtt_s) for each in long]
    return float(np.median(found)) if found else None


_ = Criteria()
# fmt: off
around = limit(measured("what a reduction leaves of the window", "%", reduced), BETA - 0.02, BETA + 0.02)
_.add("U1", "A loss leaves 0.7 of the window", "4.6", "long", around)
_.add("U2", "The window follows W(t) = 0.4 (t - K)³ + W_max", "4.2", "long",
      limit(measured("distance from the curve", "%", curve(False)), most=OFF))
_.add("U3", "Where the window was smaller than the last time, W_max is 0.85 of it", "4.7", "long",
      limit(measured("distance from the curve of the smaller W_max", "%", curve(True)), most=OFF))
_.add("U4", "Where Reno would be quicker, it grows as Reno: by 0.53 packets, and by 1 at most", "4.3",
      "small",
      limit(measured("packets that a window grows by in a round trip", "", grows), 0.9 * ALPHA, 1.25))
_.add("U5", "After a timeout slow start regains the link, once the timer has come", "4.8", "gone",
      limit(measured("time to 90 % of the link", "s", reads.reached_s("flow", 0.9, 22, 40)), most=8))
_.add("U6", "Slow start ends before it floods the queue (HyStart++, or another way)", "4.10", "long",
      limit(measured("losses in the first 3 s", "%", reads.lost(0, 3)), most=0.02))
_.add("U7", "A mark leaves 0.7 of the window", "4.6, RFC 3168", "marks", around)
_.add("U8", "Two flows of it share the link", "5.8", "two",
      limit(measured("Jain's index", "", reads.jain(("flows-0", "flows-1"), 20, 60)), least=0.9))
_.add("U9", "Shares with Reno where Reno works well", "5.1", "reno",
      limit(measured("its part of the link", "%", reads.share("flow", 10, 60)), 1 / 3, 2 / 3))
_.cannot("U10", "After idle time the window does not leap", "4.2", "no flow here falls idle and begins again")

SUITE = Suite(
    "cubic", "CUBIC for Fast and Long-Distance Networks", "RFC 9438",
    (
        far("long", "Does the window follow the curve?", 60, queue=fifo("1 BDP")),
        one("small", "Does it grow as Reno where that is quicker?", 30, rate="10 Mbit/s", base_rtt="20 ms",
            queue=fifo("2 BDP")),
        far("marks", "Does it answer marks as losses?", 40, queue=lambda _: codel(ecn=True),
            flow={"ecn": True}),
        far("gone", "Does it come back after a timeout?", 40, queue=fifo("1 BDP"),
            at={"20 s": {"loss": "100 %"}, "22 s": {"loss": "0 %"}}),
        Scene("two", "Do two flows share?", two, alone=True),
        Scene("reno", "Does it share with Reno?", reno, alone=True),
    ),
    tuple(_.made), cca="cubic",
)
