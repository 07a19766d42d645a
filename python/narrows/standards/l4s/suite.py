"""The criteria of RFC 9331 (section 4, on the sender) and RFC 9332 (on the queue) that runs show.

The sender is `--cca` (DCTCP, if none is named), the queue `--queue` (DualPI2 of the kernel). Packets are
ECT(1) because the rig makes them so. A scalable sender is held against CUBIC and Reno, which are not ECT(1).
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from narrows.judging.judge import fold
from narrows.runs.observed import Observed
from narrows.spec import Link, axis, bfifo, bulk, codel, iperf3
from narrows.standards import reads
from narrows.standards.suite import Criteria, Scene, Suite, Who, beside, limit, measured

L4S = {"l4s": True, "ecn": True}
CLASSIC = {"ecn": True}
RTT_S = 0.02
Parts = Callable[[Who], Mapping[str, Any]]


def path(who: Who, **options: Any) -> Link:
    return Link(**{"rate": "20 Mbit/s", "base_rtt": "20 ms", "queue": who.tried.bottleneck()} | options)


def alone(who: Who) -> Mapping[str, Any]:
    rates = axis("rate", {f"{each}Mbit": f"{each} Mbit/s" for each in (5, 20, 80)})
    return {"link": path(who, rate=rates), "flow": who.flow(L4S, duration="20 s")}


def slow(who: Who) -> Mapping[str, Any]:
    link = path(who, rate="2 Mbit/s", base_rtt="5 ms")
    return {"link": link, "flows": [who.flow(L4S, duration="20 s") for _ in range(4)]}


def classic(queue: Callable[[], Any], cca: str) -> Parts:
    """Beside a classic flow in one queue."""

    def parts(who: Who) -> Mapping[str, Any]:
        link = path(who, base_rtt="40 ms", queue=queue())
        other = bulk(cca=cca, stop="40 s", **CLASSIC)
        return {"link": link, "flow": who.flow(L4S, CLASSIC, stop="40 s"), "other": other}

    return parts


def reordered(who: Who) -> Mapping[str, Any]:
    return {"link": path(who, reorder="1 %"), "flow": who.flow(L4S, duration="20 s")}


def coupled(who: Who) -> Mapping[str, Any]:
    link = path(who, rate=axis("rate", {"10Mbit": "10 Mbit/s", "40Mbit": "40 Mbit/s"}))
    return {
        "link": link,
        "flow": who.flow(L4S, stop="30 s"),
        "other": bulk(cca="cubic", stop="30 s", **CLASSIC),
    }


def many(who: Who) -> Mapping[str, Any]:
    flows, other = [who.flow(L4S, stop="30 s") for _ in range(4)], bulk(cca="cubic", stop="30 s", **CLASSIC)
    return {"link": path(who, rate="40 Mbit/s"), "flows": flows, "other": other}


def flooded(who: Who) -> Mapping[str, Any]:
    flood = iperf3(direction="down", udp_rate="24 Mbit/s", start="5 s", duration="15 s")
    return {"link": path(who), "flow": who.flow(L4S, stop="20 s"), "flood": flood}


def marks_a_round(run: Observed) -> float | None:
    """The share of marked packets, times how many leave in a base RTT."""
    part, rate = (
        reads.of_tap("tap_marked", "flow", over="tap_departed")(run),
        reads.packets("flow", 5, 20, RTT_S)(run),
    )
    return None if part is None or rate is None else part * rate


def of_both(run: Observed) -> float | None:
    """The rate of the L4S flow over the classic one's."""
    mine, other = (reads.sent(item, 10, 30)(run) for item in ("flow", "other"))
    return mine / other if mine is not None and other else None


SENDER, QUEUE, FOLD = "RFC 9331, 4.3", "RFC 9332, 4.2", "most over least marks a round trip"
_ = Criteria()
# fmt: off
_.cannot("L1", "Sends ECT(1)", "RFC 9331, 4.1", "the rig makes packets ECT(1), whoever sends them")
_.cannot("L2", "Has accurate feedback of marks", "RFC 9331, 4.2",
      "the transport's, and not the congestion control's")
a_round = measured("marks a round trip", "", marks_a_round)
_.add("L3", "Its marks a round trip are about the same from 5 to 80 Mbit/s (scalable)", SENDER, "alone",
      limit(a_round, most=2.5, of_name=FOLD), by=("rate",), derive=fold(FOLD, a_round.name, ("cca",),
             least=3))
left = measured("what is left to the other flow", "%", reads.share("other", 10, 40))
_.add("L4", "Falls back to Reno's behaviour where packets are lost", SENDER, "tail_drop", beside(left,
      least=0.75))
_.add("L5", "Coexists with classic flows in a queue that marks them alike", SENDER, "classic_aqm",
      beside(left, least=0.75))
_.cannot("L6", "Depends little on the RTT", SENDER, "ECT(1) flows of two RTTs share no bottleneck here")
_.add("L7", "Goes below two packets a round trip: four flows at 2 Mbit/s queue four packets", SENDER, "slow",
      limit(measured("queueing delay, median", "ms", reads.queueing_ms(0.5, 5, 20)), most=24))
used = partial(reads.share, since=5, until=20)
_.add("L8", "Detects losses by time, so that reordering costs little", SENDER, "reordered",
      beside(measured("part of the link", "%", used("flow")), least=0.9))
_.add("L9", "L4S packets wait little beside a classic flow: 2 ms, and two full packets", "RFC 9332, 2.5",
      "coupled",
      limit(measured("queueing delay of the L4S flow, p99", "ms", reads.of_tap("sojourn_p99_ms", "flow")),
             most=4.4),
      by=("rate",))
_.add("L10", "Classic packets wait as long as the target of 15 ms says, give or take a half",
      "RFC 9332, A.1", "coupled",
      limit(measured("queueing delay of the classic flow, median", "ms", reads.of_tap("sojourn_p50_ms",
             "other")), most=22.5),
      by=("rate",))
_.add("L11", "The coupling gives both about the same rate", "RFC 9332, 2.1", "coupled",
      limit(measured("rate of the L4S flow over the classic one's", "", of_both), 0.5, 2), by=("rate",))
_.add("L12", "Four L4S flows leave a classic one half of its fifth", QUEUE, "many",
      limit(measured("what is left to the classic flow", "%", reads.share("other", 10, 30)), least=0.1))
_.add("L13", "The link is used", "RFC 9332, 1", "alone", limit(measured("part of the link", "%", used("")),
      least=0.9),
      by=("rate",))
_.add("L14", "Unresponsive classic traffic does not lock L4S out", QUEUE, "flooded",
      limit(measured("part of the link", "%", reads.share("flow", 8, 20)), least=0.05))
_.cannot("L15", "Unresponsive L4S traffic is dropped, not queued", QUEUE,
      "no unresponsive ECT(1) load is built here")

SUITE = Suite(
    "l4s", "Low Latency, Low Loss, and Scalable Throughput", "RFC 9331, section 4, and RFC 9332",
    (
        Scene("alone", "What does it do alone, from 5 to 80 Mbit/s?", alone, True, True),
        Scene("slow", "What do four do where there is hardly a packet each?", slow, True, True),
        Scene("tail_drop", "What is left to Reno where packets are dropped?",
              classic(lambda: bfifo(limit="1 BDP"), "reno"), tcp=True),
        Scene("classic_aqm", "What is left to CUBIC in one queue that marks both alike?",
              classic(lambda: codel(ecn=True), "cubic"), tcp=True),
        Scene("reordered", "Does it use the link when packets overtake others?", reordered, tcp=True),
        Scene("coupled", "What do an L4S and a classic flow do to each other?", coupled, True, True),
        Scene("many", "What do four do to a classic flow?", many, True, True),
        Scene("flooded", "What does classic traffic that does not yield do to it?", flooded, True, True),
    ),
    tuple(_.made), cca="dctcp",
)
