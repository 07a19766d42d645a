"""The example test cases of draft-ietf-ccwg-bbr (appendix), from outside: by what its sender paces and has in
flight, and by what the bottleneck shows.

A phase is known by the pacing rate over that of cruising. Cases that need the path, or the application, to
change when a phase begins cannot be measured: no bottleneck knows the sender's phase.
"""

from collections.abc import Callable, Mapping
from math import log2
from typing import Any

import numpy as np

from narrows.judging.items import Read
from narrows.judging.judge import Measure, Share
from narrows.judging.marks import Mark
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import Observed, Series
from narrows.spec import Link, bfifo, iperf3, own_cca, policer, sample, wifi
from narrows.standards import reads
from narrows.standards.reads import FRAME_BYTES, MSS_BYTES, quantile
from narrows.standards.suite import Criteria, Scene, Suite, Who, against_baselines, median
from narrows.units import NS_PER_S

RTT_S = 0.04
BDP = 20e6 * RTT_S / 8 / FRAME_BYTES
FAST_BDP = 100e6 * RTT_S / 8 / FRAME_BYTES
MARGIN = 0.99
"""It paces one per cent below its estimate (5.6.2)."""
IW = 10


def plain(rate: str, buffer: str, seconds: int, **options: Any) -> Callable[[Who], Mapping[str, Any]]:
    """One flow."""

    def parts(who: Who) -> Mapping[str, Any]:
        link = Link(**{"rate": rate, "base_rtt": "40 ms", "queue": bfifo(limit=buffer)} | options)
        return {"link": link, "flow": who.flow(duration=f"{seconds} s")}

    return parts


def step(rate: str, to: str) -> Callable[[Who], Mapping[str, Any]]:
    def parts(who: Who) -> Mapping[str, Any]:
        link = Link(rate=rate, base_rtt="40 ms", queue=bfifo(limit="500 KB"))
        link.at("10 s", rate=to)
        return {"link": link, "flow": who.flow(duration="30 s")}

    return parts


def policed(who: Who) -> Mapping[str, Any]:
    link = Link(rate="10 Mbit/s", base_rtt="40 ms", shaper=policer(burst="100 KB"))
    return {"link": link, "flow": who.flow(duration="30 s")}


def late(who: Who) -> Mapping[str, Any]:
    link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit="10 BDP"), line_rate="1 Gbit/s")
    link.at("10 s", base_rtt="2 s")
    link.at("10.5 s", base_rtt="40 ms")
    return {"link": link, "flow": who.flow(duration="25 s")}


def turns(who: Who) -> Mapping[str, Any]:
    medium = wifi(rate="60 Mbit/s", stations=1)
    link = Link(medium=medium, base_rtt="40 ms", queue=bfifo(limit="1 MB"))
    return {"link": link, "flow": who.flow(duration="20 s")}


def limited(loss: bool) -> Callable[[Who], Mapping[str, Any]]:
    """An application that gives a tenth of the rate, in writes of a packet or two."""

    def parts(who: Who) -> Mapping[str, Any]:
        link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit="10 BDP"))
        if loss:
            link.at("5 s", loss="10 %")
        cca = own_cca(who.tried.cca) if who.tried.module else who.tried.cca
        return {
            "link": link, "sampled": sample(tcp_info="10 ms"),
            "flow": who.only(iperf3(direction="down", rate="2 Mbit/s", length="2 KB", duration="16 s", cca=cca)),
        }  # fmt: skip

    return parts


def _cruise(run: Observed, since: float, until: float) -> float | None:
    return reads.of_sender("pacing", quantile(0.5), since, until)(run)


def estimate(rate_bps: float, since: float, until: float) -> Read:
    """What it takes the bottleneck for, over what that carries of payload."""

    def read(run: Observed) -> float | None:
        pacing = _cruise(run, since, until)
        return None if pacing is None else pacing / MARGIN / (rate_bps * MSS_BYTES / FRAME_BYTES)

    return read


def _startup(run: Observed) -> tuple[float, float, float] | None:
    """When the link was full, when STARTUP's gain ended, and what is paced in cruise, of a flow from 0 on."""
    full = reads.reached_s("flow", 0.95, 0, 5, over=0.04)(run)
    pacing, cruise = reads.sender(run, "pacing"), _cruise(run, 2, 5)
    if full is None or cruise is None or not pacing.value.size:
        return None
    low = np.flatnonzero((pacing.t_s > full) & (pacing.value < 1.5 * cruise))
    return full, float(pacing.t_s[low[0]]) if low.size else float("inf"), cruise


def found_rounds(run: Observed) -> float | None:
    known = _startup(run)
    return None if known is None else known[0] / RTT_S - 1  # the handshake's


def full_rounds(run: Observed) -> float | None:
    """Round trips, as long as they then are, from the full link to the end of STARTUP."""
    known = _startup(run)
    if known is None:
        return None
    rtt = reads.sender(run, "rtt").within((int(known[0] * NS_PER_S), int(min(known[1], 5) * NS_PER_S))).value
    return (known[1] - known[0]) / float(rtt.mean()) if rtt.size else None


def drain(run: Observed) -> tuple[float, float] | None:
    """The least pacing gain within 10 round trips of STARTUP's end, and the BDPs that were in flight when it
    paced at its estimate again."""
    known = _startup(run)
    if known is None or known[1] == float("inf"):
        return None
    after = reads.sender(run, "pacing").within((int((known[1] - 0.01) * NS_PER_S), 5 * NS_PER_S))
    over = after.value / known[2]
    low = np.flatnonzero(over < 0.9)
    back = np.flatnonzero((over >= 0.9) & (np.arange(over.size) > (low[0] if low.size else 0)))
    flight = reads.inflight(run)
    at = after.t_ns[back[0]] if back.size else after.t_ns[-1]
    soon = after.t_s < known[1] + 10 * RTT_S
    return float(over[soon].min()), float(flight.value[np.searchsorted(flight.t_ns, at) - 1] / FAST_BDP)


def of_drain(place: int) -> Read:
    def read(run: Observed) -> float | None:
        known = drain(run)
        return None if known is None else known[place]

    return read


def stretches(series: Series, inside: Floats) -> list[tuple[float, float]]:
    """When each stretch of samples begins and how long it is, in s."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], inside.astype(int), [0]))))
    step = float(np.median(np.diff(series.t_s))) if series.t_s.size > 1 else 0.0
    return [
        (float(series.t_s[a]), float(series.t_s[b - 1] - series.t_s[a]) + step)
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]


def pulses(up: bool, of: Callable[[list[tuple[float, float]]], float | None]) -> Read:
    """Of stretches in which it paces above, or below, its cruise rate."""

    def read(run: Observed) -> float | None:
        cruise = _cruise(run, 5, 30)
        series = reads.sender(run, "pacing").within((5 * NS_PER_S, 30 * NS_PER_S))
        if cruise is None or not series.value.size:
            return None
        over = series.value / cruise
        return of(stretches(series, over > 1.1 if up else over < 0.95))

    return read


def dips(of: Callable[[list[tuple[float, float]]], float | None]) -> Read:
    """Of stretches with at most half a BDP in flight: PROBE_RTT."""

    def read(run: Observed) -> float | None:
        flight = reads.inflight(run).within((2 * NS_PER_S, 30 * NS_PER_S))
        if not flight.value.size:
            return None
        return of([each for each in stretches(flight, flight.value <= 0.55 * BDP) if each[1] >= 0.05])

    return read


def apart(every: list[tuple[float, float]]) -> float | None:
    """The median time between beginnings; all of the run where there are fewer than two."""
    return float(np.median(np.diff([begin for begin, _ in every]))) if len(every) > 1 else 28.0


def longest(every: list[tuple[float, float]]) -> float | None:
    return max((length for _, length in every), default=None)


def gain(since: float, until: float, share: float) -> Read:
    """Its pacing rate over what the application gives (2 Mbit/s)."""
    return reads.of_sender("pacing", lambda x: float(np.quantile(x, share)) / 2e6, since, until)


PHASE = "the path or the application would have to change when a phase of the sender's begins"
_ = Criteria()


def number(name: str, unit: str, read: Read) -> Measure:
    return Measure(name, unit, read, take=median)


EST = number("estimate over the bottleneck's rate", "", estimate(100e6, 2, 5))
FOUND = number("round trips until the link is full", "", found_rounds)
FULL = number("round trips of STARTUP on a full link", "", full_rounds)
_.add(
    "D1", "Exits STARTUP on a plateau of the bandwidth", "1", "fast", (EST, FOUND, FULL),
    (
        Mark("the estimate is within 2 % of the rate", EST.name, least=0.98, most=1.02),
        Mark("doubles each round trip: full within 3 more than log2(BDP / 10)", FOUND.name, most=log2(FAST_BDP / IW) + 3),
        Mark("leaves STARTUP within 3 round trips without growth, and one to see them", FULL.name, most=4.5),
    ),
)  # fmt: skip
STILL = number("pacing rate over the application's", "", gain(3, 9, 0.05))
LOSSY = number("pacing rate over the application's after losses", "", gain(12, 16, 0.5))
_.add(
    "D2", "Exits STARTUP on losses though the application is the limit", "2", "limited_loss", (LOSSY,),
    (Mark("paces at most 1.5 times what is delivered", LOSSY.name, most=1.5),),
)  # fmt: skip
LEAST, DOWN = number("least pacing gain in DRAIN", "", of_drain(0)), number("BDPs in flight after DRAIN", "", of_drain(1))
_.add(
    "D3", "Exits DRAIN when no more than a BDP is in flight", "3", "fast", (LEAST, DOWN),
    (
        Mark("paces at most 0.75 of its estimate", LEAST.name, most=0.75),
        Mark("a BDP is in flight, and what segmentation and a sample of 10 ms add", DOWN.name, most=1.2),
    ),
)  # fmt: skip
_.cannot("D4", "Exits DRAIN after three round trips", "4", PHASE)
UPS = number("probes for bandwidth in 25 s", "", pulses(True, lambda every: float(len(every))))
LONGEST = number("round trips of the longest probe", "", pulses(True, lambda e: None if not e else longest(e) / RTT_S))
_.add(
    "D5", "Exits PROBE_UP on a plateau of the bandwidth", "5", "steady", (UPS, LONGEST),
    (
        Mark("probes at least once in 5 s", UPS.name, least=5.0),
        Mark("each ends within 3 round trips without growth, and one to see them", LONGEST.name, most=4.5),
    ),
)  # fmt: skip
_.cannot("D6", "Exits PROBE_UP on losses though the application is the limit", "6", PHASE)
_.add(
    "D7", "Stays in STARTUP while the application is the limit and nothing is lost", "7", "limited", (STILL,),
    (Mark("paces at least twice what is delivered", STILL.name, least=2.0),),
)  # fmt: skip
DOWNS = number("round trips of slower pacing after probes, in 25 s", "", pulses(False, lambda every: float(len(every))))
EMPTY = number("queueing delay, p10", "ms", reads.queueing_ms(0.1, 5, 30))
_.add(
    "D8", "Exits PROBE_DOWN when what is in flight fits the path", "8", "steady", (DOWNS, EMPTY),
    (
        Mark("paces below its estimate after probes", DOWNS.name, least=5.0),
        Mark("the queue is empty again: p10 below a tenth of the base RTT", EMPTY.name, most=1e2 * RTT_S),
    ),
)  # fmt: skip
_.cannot("D9", "Exits PROBE_DOWN after the longest time", "9", PHASE)
APART, LASTS = number("s between PROBE_RTTs", "s", dips(apart)), number("a PROBE_RTT takes", "s", dips(longest))
USED = Share("part of the link", read=reads.share("flow", 5, 30), take=median)
_.add(
    "D10", "Enters and exits PROBE_RTT", "10", "steady", (APART, LASTS, USED),
    (
        Mark("every 5 s, and a cycle of probing", APART.name, least=4.0, most=7.0),
        Mark("within 28 s at all", APART.name, most=27.0),
        Mark("for 200 ms and a round trip, and two to drain and refill", LASTS.name, least=0.15, most=0.4),
        Mark("goes on at full rate", USED.name, least=0.9),
    ),
)  # fmt: skip
_.cannot("D11", "Skips PROBE_RTT after idle time", "11", "no flow here falls idle and begins again")
EARLY = number("first rate", "bit/s", reads.sent("flow", 1.5, 4))
LATER = number("later rate", "bit/s", reads.sent("flow", 8, 20))
_.add(
    "D12", "Finds the bandwidth of a link with aggregation", "12", "turns", (EARLY, LATER),
    (Mark("after 1.5 s at least 80 % of the later rate", EARLY.name, than=LATER.name, least=0.8),),
)  # fmt: skip
_.add(
    "D13", "Cruises at the bandwidth of a link with aggregation", "13", "turns", (LATER,),
    (against_baselines(LATER, "at least 90 % of what the worse of CUBIC and Reno gets", least=0.9),),
)  # fmt: skip
FEW = number("least window", "packets", reads.of_sender("cwnd", quantile(0.0), 5, 20))
SMALL = Share("part of the link", read=reads.share("flow", 5, 20), take=median)
SLOW = number("estimate over the bottleneck's rate", "", estimate(200e3, 5, 20))
_.add(
    "D14", "Manages a BDP below a packet", "14", "tiny", (FEW, SMALL, SLOW),
    (
        Mark("a window of at least 4 packets", FEW.name, least=4.0),
        Mark("uses the link", SMALL.name, least=0.95),
        Mark("the estimate is within 10 % of the rate", SLOW.name, least=0.9, most=1.1),
    ),
)  # fmt: skip
ROUNDS = number(
    "round trips until 90 % of ten times the rate", "",
    lambda run: (found := reads.reached_s("flow", 0.9, 10, 30)(run)) and found / RTT_S,
)  # fmt: skip
_.add(
    "D15", "Finds ten times the bandwidth", "15", "up", (ROUNDS,),
    (
        Mark("within 4 log2(BDP) round trips", ROUNDS.name, most=4 * log2(FAST_BDP)),
        Mark("within 10 s at all", ROUNDS.name, most=250.0),
    ),
)  # fmt: skip
TENTH = number("highest estimate over the rate, from 5 s after the step", "",
               lambda run: (p := reads.of_sender("pacing", quantile(0.5), 15, 30)(run)) and p / MARGIN / (10e6 * MSS_BYTES / FRAME_BYTES))
AFTER = number("queueing delay, median", "ms", reads.queueing_ms(0.5, 20, 30))
_.add(
    "D16", "Gives a bandwidth up that has gone to a tenth", "16", "down", (TENTH, AFTER),
    (
        Mark("the estimate is within 5 % of the rate", TENTH.name, most=1.05),
        Mark("no standing queue is left: below a base RTT", AFTER.name, most=1e3 * RTT_S),
    ),
)  # fmt: skip
POLICED, KEPT = Share("losses", read=reads.lost(15, 30), take=median), Share("part of the link", read=reads.share("flow", 15, 30), take=median)
_.add(
    "D17", "Comes to rest behind a policer", "17", "policed", (POLICED, KEPT),
    (
        Mark("loses at most 2 % (LossThresh)", POLICED.name, most=0.02),
        Mark("with at least 80 % of the rate", KEPT.name, least=0.8),
    ),
)  # fmt: skip
SPURIOUS = Share("part of the link", read=reads.share("flow", 5, 20), take=median)
_.add(
    "D18", "Takes back a spurious fast recovery", "18", "reordered", (SPURIOUS,),
    (Mark("uses at least 90 % of the link", SPURIOUS.name, least=0.9),),
)  # fmt: skip
BACK = Share("part of the link", read=reads.share("flow", 13, 25), take=median)
_.add(
    "D19", "Takes back a spurious timeout", "19", "late", (BACK,),
    (Mark("uses at least 90 % of the link 3 s later", BACK.name, least=0.9),),
)  # fmt: skip
_.cannot("D20", "Enters PROBE_RTT in STARTUP and goes on with STARTUP", "20",
          "a STARTUP of 5 s needs an application that is the limit and never idle, and none here is")
_.cannot("D21", "Ends PROBE_UP on losses where the long-term bound is known", "21", PHASE)
_.cannot("D22", "Bears an application that pauses in PROBE_REFILL", "22", PHASE)

SUITE = Suite(
    "bbr-draft", "BBR Congestion Control", "draft-ietf-ccwg-bbr, example test cases",
    (
        Scene("fast", "How does it start?", plain("100 Mbit/s", "5 BDP", 5), alone=True),
        Scene("steady", "How does it cruise and probe?", plain("20 Mbit/s", "10 BDP", 30), alone=True),
        Scene("limited", "What does it do while the application is the limit?", limited(False), alone=True, tcp=True),
        Scene("limited_loss", "And when packets are lost meanwhile?", limited(True), alone=True, tcp=True),
        Scene("turns", "What does it do on Wi-Fi?", turns),
        Scene("tiny", "What does it do with a BDP below a packet?",
              plain("200 kbit/s", "15 KB", 20, base_rtt="10 ms"), alone=True),
        Scene("up", "What does it do when the rate is ten times as high?", step("10 Mbit/s", "100 Mbit/s"), alone=True),
        Scene("down", "And when it is a tenth?", step("100 Mbit/s", "10 Mbit/s"), alone=True),
        Scene("policed", "What does it do behind a policer?", policed, alone=True),
        Scene("reordered", "What does it do when packets overtake others?",
              plain("20 Mbit/s", "10 BDP", 20, reorder="0.1 %"), alone=True),
        Scene("late", "What does it do after a timeout that was none?", late, alone=True),
    ),
    tuple(_.made), cca="bbr",
)  # fmt: skip
