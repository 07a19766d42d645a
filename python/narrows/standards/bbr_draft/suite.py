"""The example test cases of draft-ietf-ccwg-bbr (appendix), from outside: by what its sender paces and has in
flight, and by what the bottleneck shows.

A phase is known by the pacing rate over that of cruising. Cases that need the path, or the application, to
change when a phase begins cannot be measured: no bottleneck knows the sender's phase.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import inf, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from narrows.judging.items import Read
from narrows.runs.observed import Observed, Series
from narrows.spec import Link, bfifo, iperf3, own_cca, policer, sample, wifi
from narrows.spec.axis import axis
from narrows.standards import reads
from narrows.standards.suite import AXIS, TRIED, Criteria, Scene, Suite, Who, beside, limit, measured, one
from narrows.units import NS_PER_S

RTT_S = 0.04
BDP, FAST_BDP = (rate * RTT_S / 8 / reads.FRAME_BYTES for rate in (20e6, 100e6))
PAYLOAD = reads.MSS_BYTES / reads.FRAME_BYTES
MARGIN, IW = 0.99, 10
"""It paces one per cent below its estimate (5.6.2), and begins with ten packets."""
Spans = list[tuple[float, float]]
"""When stretches begin and how long they are, in s."""
path = partial(one, base_rtt="40 ms")


def fifo(size: str) -> Any:
    return lambda _: bfifo(limit=size)


def limited(loss: bool) -> Callable[[Who], Mapping[str, Any]]:
    """An application that gives a tenth of the rate, in writes of a packet or two."""

    def parts(who: Who) -> Mapping[str, Any]:
        link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit="10 BDP"))
        if loss:
            link.at("5 s", loss="10 %")
        cca = own_cca(who.tried.cca) if who.tried.module else who.tried.cca
        flow = iperf3(direction="down", rate="2 Mbit/s", length="2 KB", duration="16 s", cca=cca)
        return {"link": link, "sampled": sample(tcp_info="10 ms"), "flow": axis(AXIS, {TRIED: flow})}

    return parts


cruise = partial(reads.of_sender, "pacing", reads.quantile(0.5))


def estimate(rate_bps: float, since: float, until: float) -> Read:
    """What it takes the bottleneck for, over what that carries of payload."""
    return reads.of_sender(
        "pacing", lambda x: float(np.median(x)) / MARGIN / (rate_bps * PAYLOAD), since, until
    )


def startup(of: Callable[[Observed, float, float, float], float | None]) -> Read:
    """Of the times (s) when the link was full and when STARTUP's gain ended, and of the cruise rate."""

    def read(run: Observed) -> float | None:
        full = reads.reached_s("flow", 0.95, 0, 5, over=0.04)(run)
        pacing, usual = reads.sender(run, "pacing"), cruise(2, 5)(run)
        if full is None or usual is None:
            return None
        low = np.flatnonzero((pacing.t_s > full) & (pacing.value < 1.5 * usual))
        return of(run, full, float(pacing.t_s[low[0]]) if low.size else inf, usual)

    return read


def full_rounds(run: Observed, full: float, end: float, _: float) -> float | None:
    """Round trips, as long as they then are, from the full link to the end of STARTUP."""
    rtt = reads.sender(run, "rtt").within((int(full * NS_PER_S), int(min(end, 5) * NS_PER_S))).value
    return (end - full) / float(rtt.mean()) if rtt.size else None


def drained(least: bool) -> Read:
    """The least pacing gain within 10 round trips of STARTUP's end, or the BDPs that were in flight when it
    paced at its estimate again."""

    def of(run: Observed, full: float, end: float, usual: float) -> float | None:
        if end == inf:
            return None
        after = reads.sender(run, "pacing").within((int((end - 0.01) * NS_PER_S), 5 * NS_PER_S))
        over = after.value / usual
        if least:
            return float(over[after.t_s < end + 10 * RTT_S].min())
        low = np.flatnonzero(over < 0.9)
        back = np.flatnonzero((over >= 0.9) & (np.arange(over.size) > (low[0] if low.size else 0)))
        flight = reads.inflight(run)
        at = np.searchsorted(flight.t_ns, after.t_ns[back[0] if back.size else -1])
        return float(flight.value[at - 1] / FAST_BDP)

    return startup(of)


def stretches(series: Series, inside: NDArray[np.bool_]) -> Spans:
    """Those of samples that are inside."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], inside.astype(int), [0]))))
    step = float(np.median(np.diff(series.t_s))) if series.t_s.size > 1 else 0.0
    t, pairs = series.t_s, zip(edges[::2], edges[1::2], strict=True)
    return [(float(t[a]), float(t[b - 1] - t[a]) + step) for a, b in pairs]


def probes(up: bool, of: Callable[[Spans], float | None]) -> Read:
    """Of stretches in which it paces above, or below, its cruise rate."""

    def read(run: Observed) -> float | None:
        usual, series = cruise(5, 30)(run), reads.sender(run, "pacing").within((5 * NS_PER_S, 30 * NS_PER_S))
        if usual is None:
            return None
        over = series.value / usual
        return of(stretches(series, over > 1.1 if up else over < 0.95))

    return read


def dips(of: Callable[[Spans], float | None]) -> Read:
    """Of stretches of 50 ms and more with at most half a BDP in flight: PROBE_RTT."""

    def read(run: Observed) -> float | None:
        flight = reads.inflight(run).within((2 * NS_PER_S, 30 * NS_PER_S))
        every = stretches(flight, flight.value <= 0.55 * BDP)
        return of([each for each in every if each[1] >= 0.05]) if flight.value.size else None

    return read


def apart(every: Spans) -> float | None:
    """The median time between beginnings; all of the run where there are fewer than two."""
    return float(np.median(np.diff([begin for begin, _ in every]))) if len(every) > 1 else 28.0


def longest(every: Spans) -> float | None:
    return max((length for _, length in every), default=None)


def gain(since: float, until: float, share: float) -> Read:
    """Its pacing rate over what the application gives (2 Mbit/s)."""
    return reads.of_sender("pacing", lambda x: float(np.quantile(x, share)) / 2e6, since, until)


def used(since: float, until: float, least: float) -> Any:
    return limit(measured("part of the link", "%", reads.share("flow", since, until)), least)


def found_rounds(run: Observed) -> float | None:
    found = reads.reached_s("flow", 0.9, 10, 30)(run)
    return None if found is None else found / RTT_S


PHASE = "the path or the application would have to change when a phase of the sender's begins"
_ = Criteria()
# fmt: off
_.add("D1", "Exits STARTUP on a plateau of the bandwidth, after it has doubled each round trip", "1", "fast",
      limit(measured("estimate over the bottleneck's rate", "", estimate(100e6, 2, 5)), 0.98, 1.02),
      limit(measured("round trips until the link is full", "", startup(lambda run, full, end,
             usual: full / RTT_S - 1)),
            most=log2(FAST_BDP / IW) + 3),  # one is the handshake's
      limit(measured("round trips of STARTUP on a full link", "", startup(full_rounds)), most=4.5))
_.add("D2", "Exits STARTUP on losses though the application is the limit", "2", "limited_loss",
      limit(measured("pacing rate over the application's, after losses", "", gain(12, 16, 0.5)), most=1.5))
_.add("D3", "Exits DRAIN when no more than a BDP is in flight, and what segmentation and 10 ms add", "3",
      "fast",
      limit(measured("least pacing gain in DRAIN", "", drained(True)), most=0.75),
      limit(measured("BDPs in flight after DRAIN", "", drained(False)), most=1.2))
_.cannot("D4", "Exits DRAIN after three round trips", "4", PHASE)
_.add("D5", "Exits PROBE_UP on a plateau of the bandwidth", "5", "steady",
      limit(measured("probes for bandwidth in 25 s", "", probes(True, len)), least=5),
      limit(measured("the longest probe", "s", probes(True, longest)), most=4.5 * RTT_S))
_.cannot("D6", "Exits PROBE_UP on losses though the application is the limit", "6", PHASE)
_.add("D7", "Stays in STARTUP while the application is the limit and nothing is lost", "7", "limited",
      limit(measured("pacing rate over the application's", "", gain(3, 9, 0.05)), least=2))
_.add("D8", "Exits PROBE_DOWN when what is in flight fits the path: the queue is empty again", "8", "steady",
      limit(measured("stretches of slower pacing in 25 s", "", probes(False, len)), least=5),
      limit(measured("queueing delay, p10", "ms", reads.queueing_ms(0.1, 5, 30)), most=100 * RTT_S))
_.cannot("D9", "Exits PROBE_DOWN after the longest time", "9", PHASE)
between = measured("time between PROBE_RTTs", "s", dips(apart))
takes = measured("a PROBE_RTT takes", "s", dips(longest))
_.add("D10", "Enters PROBE_RTT every 5 s, for 200 ms and a round trip, and exits", "10", "steady",
      limit(between, 4, 7), limit(between, most=27), limit(takes, 0.15, 0.4), used(5, 30, 0.9))
_.cannot("D11", "Skips PROBE_RTT after idle time", "11", "no flow here falls idle and begins again")
early, later = (measured(f"rate {words}", "bit/s", reads.sent("flow", since, until))
                for words, since, until in (("from 1.5 s on", 1.5, 4), ("from 8 s on", 8, 20)))
_.add("D12", "Finds the bandwidth of a link with aggregation", "12", "turns", beside(later, least=0.9),
      beside(early, least=0.9))
_.add("D13", "Cruises at the bandwidth of a link with aggregation", "13", "turns", beside(later, least=0.9))
_.add("D14", "Manages a BDP below a packet", "14", "tiny",
      limit(measured("least window", "packets", reads.of_sender("cwnd", reads.quantile(0), 5, 20)), least=4),
      limit(measured("estimate over the bottleneck's rate", "", estimate(200e3, 5, 20)), 0.9, 1.1), used(5,
             20, 0.95))
rounds = measured("round trips until 90 % of ten times the rate", "", found_rounds)
_.add("D15", "Finds ten times the bandwidth, in O(log(BDP)) round trips", "15", "up",
      limit(rounds, most=4 * log2(FAST_BDP)), limit(rounds, most=250))
_.add("D16", "Gives a bandwidth up that has gone to a tenth", "16", "down",
      limit(measured("estimate over the rate, from 5 s after the step on", "", estimate(10e6, 15, 30)),
             most=1.05),
      limit(measured("queueing delay, median", "ms", reads.queueing_ms(0.5, 20, 30)), most=1e3 * RTT_S))
_.add("D17", "Comes to rest behind a policer, with losses below LossThresh", "17", "policed",
      limit(measured("losses", "%", reads.lost(15, 30)), most=0.02), used(15, 30, 0.8))
_.add("D18", "Takes back a spurious fast recovery", "18", "reordered", used(5, 20, 0.9))
_.add("D19", "Takes back a spurious timeout", "19", "late", used(13, 25, 0.9))
_.cannot("D20", "Enters PROBE_RTT in STARTUP and goes on with STARTUP", "20",
         "a STARTUP of 5 s needs an application that is the limit and never idle, and none here is")
_.cannot("D21", "Ends PROBE_UP on losses where the long-term bound is known", "21", PHASE)
_.cannot("D22", "Bears an application that pauses in PROBE_REFILL", "22", PHASE)

SUITE = Suite(
    "bbr-draft", "BBR Congestion Control", "draft-ietf-ccwg-bbr, example test cases",
    (
        path("fast", "How does it start?", 5, rate="100 Mbit/s", queue=fifo("5 BDP")),
        path("steady", "How does it cruise and probe?", 30, rate="20 Mbit/s", queue=fifo("10 BDP")),
        Scene("limited", "What does it do while the application is the limit?", limited(False), True, True),
        Scene("limited_loss", "And when packets are lost meanwhile?", limited(True), True, True),
        path("turns", "What does it do on Wi-Fi?", 20, medium=lambda _: wifi(rate="60 Mbit/s", stations=1),
             queue=fifo("1 MB"), alone=False),
        one("tiny", "What does it do with a BDP below a packet?", 20, rate="200 kbit/s", base_rtt="10 ms",
            queue=fifo("15 KB")),
        path("up", "What does it do when the rate is ten times as high?", 30,
             {"10 s": {"rate": "100 Mbit/s"}},
             rate="10 Mbit/s", queue=fifo("500 KB")),
        path("down", "And when it is a tenth?", 30, {"10 s": {"rate": "10 Mbit/s"}}, rate="100 Mbit/s",
             queue=fifo("500 KB")),
        path("policed", "What does it do behind a policer?", 30, rate="10 Mbit/s",
             shaper=lambda _: policer(burst="100 KB")),
        path("reordered", "What does it do when packets overtake others?", 20, rate="20 Mbit/s",
             reorder="0.1 %",
             queue=fifo("10 BDP")),
        path("late", "What does it do after a timeout that was none?", 25,
             {"10 s": {"base_rtt": "2 s"}, "10.5 s": {"base_rtt": "40 ms"}}, rate="20 Mbit/s",
             queue=fifo("10 BDP"), line_rate="1 Gbit/s"),
    ),
    tuple(_.made), cca="bbr",
)
