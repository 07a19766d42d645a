"""The criteria of RFC 9331 (section 4, on the sender) and RFC 9332 (on the queue) that runs show.

The sender is `--cca` (DCTCP, if none is named), the queue `--queue` (DualPI2 of the kernel). Packets are
ECT(1) because the rig makes them so. A scalable sender is held against CUBIC and Reno, which are not ECT(1).
"""

from collections.abc import Mapping
from typing import Any

from narrows.judging.judge import Measure, Share, fold
from narrows.judging.marks import Mark
from narrows.runs.observed import Observed
from narrows.spec import Link, axis, bfifo, bulk, codel, iperf3
from narrows.standards import reads
from narrows.standards.suite import Criteria, Scene, Suite, Who, against_baselines, median

L4S = {"l4s": True, "ecn": True}
RTT_S = 0.02
RATES = {"5Mbit": "5 Mbit/s", "20Mbit": "20 Mbit/s", "80Mbit": "80 Mbit/s"}


def path(who: Who, **options: Any) -> Link:
    return Link(**{"rate": "20 Mbit/s", "base_rtt": "20 ms", "queue": who.tried.bottleneck()} | options)


def alone(who: Who) -> Mapping[str, Any]:
    return {"link": path(who, rate=axis("rate", RATES)), "flow": who.flow(duration="20 s", **L4S)}


def slow(who: Who) -> Mapping[str, Any]:
    flows = [who.flow(duration="20 s", **L4S) for _ in range(4)]
    return {"link": path(who, rate="2 Mbit/s", base_rtt="5 ms"), "flows": flows}


def tail_drop(who: Who) -> Mapping[str, Any]:
    other = bulk(cca="reno", ecn=True, stop="40 s")
    mine = who.flow(tried=L4S, others={"ecn": True}, stop="40 s")
    return {"link": path(who, base_rtt="40 ms", queue=bfifo(limit="1 BDP")), "flow": mine, "other": other}


def classic_aqm(who: Who) -> Mapping[str, Any]:
    other = bulk(cca="cubic", ecn=True, stop="40 s")
    mine = who.flow(tried=L4S, others={"ecn": True}, stop="40 s")
    return {"link": path(who, base_rtt="40 ms", queue=codel(ecn=True)), "flow": mine, "other": other}


def reordered(who: Who) -> Mapping[str, Any]:
    return {"link": path(who, reorder="1 %"), "flow": who.flow(tried=L4S, duration="20 s")}


def coupled(who: Who) -> Mapping[str, Any]:
    link = path(who, rate=axis("rate", {"10Mbit": "10 Mbit/s", "40Mbit": "40 Mbit/s"}))
    return {"link": link, "flow": who.flow(stop="30 s", **L4S), "other": bulk(cca="cubic", ecn=True, stop="30 s")}


def many(who: Who) -> Mapping[str, Any]:
    flows = [who.flow(stop="30 s", **L4S) for _ in range(4)]
    return {"link": path(who, rate="40 Mbit/s"), "flows": flows, "other": bulk(cca="cubic", ecn=True, stop="30 s")}


def flooded(who: Who) -> Mapping[str, Any]:
    flood = iperf3(direction="down", udp_rate="24 Mbit/s", start="5 s", duration="15 s")
    return {"link": path(who), "flow": who.flow(stop="20 s", **L4S), "flood": flood}


def marks_a_round(run: Observed) -> float | None:
    """The share of marked packets, times how many leave in a base RTT."""
    part, rate = reads.of_tap("tap_marked", "flow", over="tap_departed")(run), reads.sent("flow", 5, 20)(run)
    return None if part is None or rate is None else part * rate * RTT_S / 8 / reads.FRAME_BYTES


def of_both(run: Observed) -> float | None:
    """The rate of the L4S flow over the classic one's."""
    mine, other = (reads.sent(item, 10, 30)(run) for item in ("flow", "other"))
    return mine / other if mine is not None and other else None


_ = Criteria()
_.cannot("L1", "Sends ECT(1)", "RFC 9331, 4.1", "the rig makes packets ECT(1), whoever sends them")
_.cannot("L2", "Has accurate feedback of marks", "RFC 9331, 4.2", "the transport's, and not the congestion control's")
ROUND = Measure("marks a round trip", "", marks_a_round, take=median)
FOLD = "marks a round trip, most over least"
_.add(
    "L3", "Its marks a round trip are the same at any rate (scalable)", "RFC 9331, 4.3", "alone", (ROUND,),
    (Mark("within a factor of 2.5 from 5 to 80 Mbit/s", FOLD, most=2.5),),
    ("rate",), derive=fold(FOLD, ROUND.name, ("cca",), least=3),
)  # fmt: skip
LEFT = Share("what is left to the other flow", read=reads.share("other", 10, 40), take=median)
KEEPS = "leaves Reno or CUBIC at least 75 % of what the worse of both does"
_.add(
    "L4", "Falls back to Reno's behaviour where packets are lost", "RFC 9331, 4.3", "tail_drop", (LEFT,),
    (against_baselines(LEFT, KEEPS, least=0.75),),
)  # fmt: skip
_.add(
    "L5", "Coexists with classic flows in a queue that marks them alike", "RFC 9331, 4.3", "classic_aqm", (LEFT,),
    (against_baselines(LEFT, KEEPS, least=0.75),),
)  # fmt: skip
_.cannot("L6", "Depends little on the RTT", "RFC 9331, 4.3", "ECT(1) flows of two RTTs share no bottleneck here")
SMALL = Measure("queueing delay, median", "ms", reads.queueing_ms(0.5, 5, 20), take=median)
_.add(
    "L7", "Goes below two packets a round trip", "RFC 9331, 4.3", "slow", (SMALL,),
    (Mark("four flows at 2 Mbit/s queue at most four packets (24 ms)", SMALL.name, most=24.0),),
)  # fmt: skip
USED = Share("part of the link", read=reads.share("flow", 5, 20), take=median)
_.add(
    "L8", "Detects losses by time, so that reordering costs little", "RFC 9331, 4.3", "reordered", (USED,),
    (against_baselines(USED, "uses at least 90 % of what the worse of CUBIC and Reno does", least=0.9),),
)  # fmt: skip
STOOD = Measure("queueing delay of the L4S flow, p99", "ms", reads.of_tap("sojourn_p99_ms", "flow"), take=median)
_.add(
    "L9", "L4S packets wait little beside a classic flow", "RFC 9332, 2.5", "coupled", (STOOD,),
    (Mark("p99 at most 2 ms, and two full packets", STOOD.name, most=2.0 + 2.4),), ("rate",),
)  # fmt: skip
CLASSIC = Measure("queueing delay of the classic flow, median", "ms", reads.of_tap("sojourn_p50_ms", "other"), take=median)
_.add(
    "L10", "Classic packets wait as long as the target says", "RFC 9332, A.1", "coupled", (CLASSIC,),
    (Mark("median at most 15 ms, give or take a half", CLASSIC.name, most=22.5),), ("rate",),
)  # fmt: skip
BOTH = Measure("rate of the L4S flow over the classic one's", "", of_both, take=median)
_.add(
    "L11", "The coupling gives both about the same rate", "RFC 9332, 2.1", "coupled", (BOTH,),
    (Mark("between a half and twice", BOTH.name, least=0.5, most=2.0),), ("rate",),
)  # fmt: skip
FIFTH = Share("what is left to the classic flow", read=reads.share("other", 10, 30), take=median)
_.add(
    "L12", "Many L4S flows do not starve a classic one", "RFC 9332, 4.2", "many", (FIFTH,),
    (Mark("at least half of its fifth", FIFTH.name, least=0.1),),
)  # fmt: skip
WHOLE = Share("part of the link", read=reads.share("", 5, 20), take=median)
_.add(
    "L13", "The link is used", "RFC 9332, 1", "alone", (WHOLE,), (Mark("at least 90 %", WHOLE.name, least=0.9),), ("rate",)
)
REST = Share("part of the link", read=reads.share("flow", 8, 20), take=median)
_.add(
    "L14", "Unresponsive classic traffic does not lock L4S out", "RFC 9332, 4.2", "flooded", (REST,),
    (Mark("at least 5 %", REST.name, least=0.05),),
)  # fmt: skip
_.cannot("L15", "Unresponsive L4S traffic is dropped, not queued", "RFC 9332, 4.2", "no unresponsive ECT(1) load is built here")

SUITE = Suite(
    "l4s", "Low Latency, Low Loss, and Scalable Throughput", "RFC 9331, section 4, and RFC 9332",
    (
        Scene("alone", "What does it do alone, from 5 to 80 Mbit/s?", alone, alone=True, tcp=True),
        Scene("slow", "What do four do where there is hardly a packet each?", slow, alone=True, tcp=True),
        Scene("tail_drop", "What is left to Reno where packets are dropped?", tail_drop, tcp=True),
        Scene("classic_aqm", "What is left to CUBIC in one queue that marks both alike?", classic_aqm, tcp=True),
        Scene("reordered", "Does it use the link when packets overtake others?", reordered, tcp=True),
        Scene("coupled", "What do an L4S and a classic flow do to each other?", coupled, alone=True, tcp=True),
        Scene("many", "What do four do to a classic flow?", many, alone=True, tcp=True),
        Scene("flooded", "What does classic traffic that does not yield do to it?", flooded, alone=True, tcp=True),
    ),
    tuple(_.made), cca="dctcp",
)  # fmt: skip
