"""What the records of one way show, each with a physical reason. Pure; None is what cannot be computed.

| feature | reason |
|---|---|
| rate, buffer | a full queue is served at the link's rate; a packet waits at most what the buffer holds |
| spread of the delay at losses | a full FIFO drops at one delay; an AQM drops at whatever delay there is |
| survivors | a tail drop may hit the last packet that is sent, a head drop none of the last bufferful |
| held at losses | the same in packets, which a medium's waits and a rate that moves leave as it is |
| law | CoDel's drops come at intervals of I / sqrt(n) (RFC 8289, section 5.4): 1 / spacing^2 is a line in n |
| turn | a link sends evenly while its queue is full; a medium at turns, in aggregates, what failed again |
| apart | with a queue for each flow, only the flow that sends more than its share waits and loses |
| collisions | 128 flows in 1024 buckets: 8 pairs collide on average; 8-way sets (CAKE) none |
| tins | CS1 beside best effort, both overloaded: classes with weights serve them differently |
| bands | strict priority: a code point of a higher band does not wait, one of a lower starves |
| low latency | ECT(1) waits less than what is not ECT: a coupled queue of its own (RFC 9332) |
"""

import math
from dataclasses import dataclass

import numpy as np

from narrows.tools.identify.records import Floats, FlowRecords, Ints, Phase, Report
from narrows.tools.identify.signals import FEW, LAW_MOST, Signals, codel_clock, codel_law, signals

TURN_WINDOW_S = 0.25
HURT, UNHURT, UNHURT_S, UNHURT_WAITS_S = 1.2, 60, 0.04, 0.004
COLLIDED, OVERLOADED, TOGETHER = 0.7, 0.85, 0.2
EVEN, EVEN_PACKETS = 0.15, 3
CHANCE, LEAST_LOST = 0.01, 0.05
"""A code point starves where so much loss is this unlikely by chance among all that were tried; a share of
loss below the second is not known so well."""


@dataclass(frozen=True)
class Apart:
    """Flow A, which sends more than its share, beside B and a sparse flow, which do not."""

    a_s: float
    b_s: float
    sparse_s: float
    """Delays: the 75th percentiles."""
    a_signals: float
    b_signals: float
    """Shares lost or marked."""
    z: float
    """The difference of the two shares, in standard errors."""


@dataclass(frozen=True)
class CodePoint:
    """One code point of the sweep, beside the sparse flow of best effort."""

    dscp: int
    sent: int
    lost: float
    delay_s: float | None
    arrived_as: int | None
    """What the code point was on arrival; None: nothing arrived."""
    treated: str
    """"better", "worse", "same" or "unknown"."""


@dataclass(frozen=True)
class Features:
    """All of one way."""

    way: str
    rate_bps: float | None
    buffer_s: float | None
    """The longest wait in the fill, where something was lost; None: the queue never was full."""
    longest_s: float | None
    """The longest wait in the fill."""
    first_rate_bps: float | None
    """The rate of the first tenth of the fill: above the rate if a bucket held something."""
    packet_s: float | None
    """What one full-sized packet takes at the rate."""
    turn_s: float | None
    """How far arrivals of the full queue are from even ones: the middle 90 %."""
    noise_s: float
    """Spread of the idle round-trip time: its 90th percentile above its smallest."""
    overload: float | None
    """Share of the fill that did not arrive."""
    fill: Signals | None
    gentle: Signals | None
    """The signals of flow A."""
    gentle_all: Signals | None
    """The signals of all flows: what one queue dropped."""
    survivors: int | None
    """Packets of the fill behind the last lost one."""
    longest_run: int | None
    """The most packets in a row that none was lost of, while the queue was full: the second half of the fill
    without its last bufferful."""
    buffer_packets: float | None
    burst_packets: int | None
    """How many packets of the fill were sent at once, as its sender's timer has it: a shorter buffer drops
    them whatever the rate."""
    apart: Apart | None
    collided: int | None
    """How many of 128 flows got less than 0.7 of the median."""
    uneven: bool | None
    """Whether the others got unlike shares, as behind a FIFO that drops of all before."""
    tins: float | None
    """(delay of CS1 - delay of best effort) / their sum, of medians."""
    code_points: tuple[CodePoint, ...]
    bleached: bool | None
    """Whether all code points arrived as 0."""
    ce: float | None
    """Share of ECT(0) packets marked in the gentle phase."""
    ce_count: int | None
    """How many those are."""
    ce_l4s: float | None
    """Share of ECT(1) packets marked."""
    ecn_kept: bool | None
    """Whether ECT(0) and ECT(1) arrived as they were sent, or marked."""
    low_latency: float | None
    """Delay of ECT(1) over that of the sparse flow that is not ECT, of medians."""
    standing_s: float | None
    """Median delay of A in the second half of the gentle phase."""
    dropped_by_socket: int | None
    ip_bytes: int

    @property
    def is_outrun(self) -> bool:
        """Whether the probe's own bursts fill the buffer, so that what passes is of the buffer and not of the
        link's rate."""
        if self.burst_packets is None or self.buffer_packets is None or self.burst_packets < 2:
            return False
        return self.buffer_packets <= self.burst_packets


def of(report: Report, way: str) -> Features:
    fill, gentle, ecn = (report.of(way, name) for name in ("fill", "gentle", "ecn"))
    tins, many = report.of(way, "tins"), report.of(way, "many")
    rtt_s = report.rtt_s
    noise_s = float(np.percentile(rtt_s, 90) - rtt_s.min()) if len(rtt_s) else 0.0
    rate = None if fill is None else _rate(fill.flows[0], 0.5, 1.0)
    unhurt = None if fill is None else _unhurt_rate(fill.flows[0])
    if rate is not None and unhurt is not None and unhurt > HURT * rate:
        rate = unhurt
    packet_s = None if rate is None or fill is None else fill.flows[0].bytes * 8 / rate
    longest = None if fill is None else _percentile(fill.delays(0), 99.5)
    overload = None if fill is None else fill.flows[0].share_lost
    fill_signals = None if fill is None else signals(fill, (0,))
    buffer_s = longest if fill_signals is not None and fill_signals.count >= FEW else None
    held = None if buffer_s is None or packet_s is None else buffer_s / packet_s
    apart_found = None if gentle is None else apart(gentle)
    phases = [phase for phase in report.phases if phase.way == way]
    drops = [phase.dropped_by_socket for phase in phases]
    points = () if gentle is None else code_points(gentle, noise_s)
    return Features(
        way=way,
        rate_bps=rate,
        buffer_s=buffer_s,
        longest_s=longest,
        first_rate_bps=None if fill is None else _rate(fill.flows[0], 0.0, 0.1),
        packet_s=packet_s,
        turn_s=None if fill is None else _turn(fill.flows[0]),
        noise_s=noise_s,
        overload=overload,
        fill=fill_signals,
        gentle=None if gentle is None else signals(gentle, (0,)),
        gentle_all=None if gentle is None else signals(gentle, tuple(range(len(gentle.flows)))),
        survivors=None if fill is None else _survivors(fill.flows[0]),
        longest_run=None if fill is None or held is None else _longest_run(fill.flows[0], held),
        buffer_packets=held,
        burst_packets=None if fill is None or packet_s is None else bursts(fill.flows[0].sent_s, packet_s),
        apart=apart_found,
        collided=None if many is None else collided(many),
        uneven=None if many is None else _uneven(_shares(many)[0]),
        tins=None if tins is None else _contrast(tins),
        code_points=points,
        bleached=_bleached(points),
        ce=_share_marked(gentle, 0),
        ce_count=None if gentle is None else int(gentle.flows[0].marked.sum()),
        ce_l4s=_share_marked(ecn, 1),
        ecn_kept=_ecn_kept(gentle, ecn),
        low_latency=None if ecn is None else _low_latency(ecn),
        standing_s=None if gentle is None else _percentile(_second_half(gentle.flows[0]), 50),
        dropped_by_socket=sum(d for d in drops if d is not None) if None not in drops else None,
        ip_bytes=sum(phase.ip_bytes for phase in phases),
    )


def _percentile(values: Floats, percent: float) -> float | None:
    return float(np.percentile(values, percent)) if len(values) >= FEW else None


def _second_half(flow: FlowRecords) -> Floats:
    delay = flow.delay_s[len(flow.delay_s) // 2 :]
    return delay[~np.isnan(delay)]


def _rate(flow: FlowRecords, start: float, end: float) -> float | None:
    """IP bits per second of the arrivals between two shares of the time of all of them."""
    arrived = np.sort(flow.arrived_s[~flow.lost])
    if len(arrived) < FEW:
        return None
    span = arrived[-1] - arrived[0]
    part = arrived[(arrived >= arrived[0] + start * span) & (arrived <= arrived[0] + end * span)]
    if len(part) < FEW or part[-1] <= part[0]:
        return None
    return float((len(part) - 1) * flow.bytes * 8 / (part[-1] - part[0]))


def _unhurt_rate(flow: FlowRecords) -> float | None:
    """The rate of the packets that waited before the first was lost, as the client reckons in `plan.rs`.
    A queue that counts what it drops as passed (CAKE's `ingress`) shows its rate only then."""
    kept = int(flow.lost.argmax()) if flow.lost.any() else 0
    waits = np.flatnonzero(flow.delay_s[:kept] > UNHURT_WAITS_S)
    arrived = np.sort(flow.arrived_s[waits[0] : kept]) if len(waits) else flow.arrived_s[:0]
    if len(arrived) < UNHURT or arrived[-1] - arrived[0] <= UNHURT_S:
        return None
    return float((len(arrived) - 1) * flow.bytes * 8 / (arrived[-1] - arrived[0]))


def _turn(flow: FlowRecords) -> float | None:
    """Around a line through each window of the second half: the rate of a medium moves."""
    arrived = np.sort(flow.arrived_s[~flow.lost])
    arrived = arrived[len(arrived) * 2 // 5 :]
    found = []
    for start in np.arange(arrived[0], arrived[-1], TURN_WINDOW_S) if len(arrived) else ():
        part = arrived[(arrived >= start) & (arrived < start + TURN_WINDOW_S)]
        if len(part) >= 2 * FEW:
            n = np.arange(len(part), dtype=np.float64)
            slope, first = np.polyfit(n, part, 1)
            found.append(float(np.subtract(*np.percentile(part - first - slope * n, (95, 5)))))
    return float(np.median(found)) if found else None


def _longest_run(flow: FlowRecords, held: float) -> int | None:
    whole = len(flow.sent_s)
    lost = flow.lost[whole // 2 : max(whole - 2 * math.ceil(held), whole // 2)]
    if not lost.any():
        return None
    at = np.flatnonzero(np.concatenate(([True], lost, [True])))
    return int(np.diff(at).max()) - 1


def bursts(sent_s: Floats, packet_s: float) -> int:
    """The size of nearly all bursts: packets that follow each other in a fifth of one's time at the rate."""
    if len(sent_s) < 2:
        return len(sent_s)
    apart = np.flatnonzero(np.diff(sent_s) > TOGETHER * packet_s)
    sizes = np.diff(np.concatenate(([-1], apart, [len(sent_s) - 1])))
    return int(np.percentile(sizes, 90))


def _survivors(flow: FlowRecords) -> int | None:
    lost = np.flatnonzero(flow.lost)
    return int(len(flow.sent_s) - 1 - lost[-1]) if len(lost) else None


def apart(phase: Phase) -> Apart | None:
    """A beside B and the sparse flow; None where too little arrived."""
    a, b, sparse = (_percentile(phase.delays(n), 75) for n in (0, 1, 2))
    first, second = phase.flows[0], phase.flows[1]
    if b is None and sparse is None:
        return None
    hit = [(flow.lost | flow.marked) for flow in (first, second)]
    shares = [float(each.mean()) if len(each) else 0.0 for each in hit]
    n = [max(len(each), 1) for each in hit]
    pooled = (hit[0].sum() + hit[1].sum()) / (n[0] + n[1])
    error = math.sqrt(max(pooled * (1 - pooled), 1e-12) * (1 / n[0] + 1 / n[1]))
    if a is None:
        return None
    return Apart(
        a_s=a,
        b_s=b if b is not None else math.nan,
        sparse_s=sparse if sparse is not None else math.nan,
        a_signals=shares[0],
        b_signals=shares[1],
        z=(shares[0] - shares[1]) / error,
    )


def collided(phase: Phase) -> int | None:
    """Flows that got clearly less than the median, while all still sent: what waits is delivered later. None
    where a flow's share is too few packets to say, or all they send passes."""
    got, sent = _shares(phase)
    median = float(np.median(got))
    if median > OVERLOADED * float(np.median(sent)):
        return None
    return int((got < COLLIDED * median).sum()) if median >= 2 * FEW else None


def _shares(phase: Phase) -> tuple[Ints, Ints]:
    """Packets of each flow that arrived while all still sent, and that it sent then."""
    end = max((float(flow.sent_s[-1]) for flow in phase.flows if len(flow.sent_s)), default=0.0)
    got = np.array([int(((f.arrived_s > 0.4 * end) & (f.arrived_s <= end)).sum()) for f in phase.flows])
    return got, np.array([int((f.sent_s > 0.4 * end).sum()) for f in phase.flows])


def _uneven(got: Ints) -> bool:
    low, median, high = np.percentile(got, (25, 50, 90))
    return bool(high - low > EVEN * median + EVEN_PACKETS)


def _contrast(phase: Phase) -> float | None:
    best_effort, bulk = (_percentile(phase.delays(n), 50) for n in (0, 1))
    if best_effort is None:
        return None
    if bulk is None:  # it starves
        return 1.0
    return (bulk - best_effort) / max(bulk + best_effort, 1e-9)


def code_points(phase: Phase, noise_s: float) -> tuple[CodePoint, ...]:
    """Each code point of the sweep, beside the sparse flow of best effort of the same time."""
    if len(phase.flows) < 4:
        return ()
    flow, sparse = phase.flows[3], phase.flows[2]
    asked: Ints = np.array(flow.asked_tos)[np.arange(len(flow.sent_s)) % len(flow.asked_tos)] >> 2
    there = ~sparse.lost
    if there.sum() < FEW:
        return ()
    usual = np.interp(flow.sent_s, sparse.sent_s[there], sparse.delay_s[there])
    # Where there is something to wait for: the second half, and where best effort waits.
    waiting = usual > max(0.003, 2 * noise_s)
    tried = dict.fromkeys(int(each) for each in asked)
    # A full queue drops then, and at no other time: what is lost then on the whole is usual.
    usual_lost = float(sparse.lost.mean())
    if waiting.any():
        usual_lost = max(usual_lost, float(flow.lost[waiting].mean()))
    found = []
    for dscp in tried:
        mine = asked == dscp
        got = mine & ~flow.lost
        lost = 1 - got.sum() / mine.sum()
        delay = float(np.median(flow.delay_s[got])) if got.any() else None
        waits = mine & waiting
        treated = "unknown"
        if waits.sum() >= 3:
            arrived = waits & ~flow.lost
            share = arrived.sum() / waits.sum()
            ratio = float(np.median(flow.delay_s[arrived] / usual[arrived])) if arrived.any() else None
            starves = share < 0.5 * (1 - usual_lost)
            missing = int(waits.sum() - arrived.sum())
            chance = by_chance(missing, int(waits.sum()), max(usual_lost, LEAST_LOST))
            treated = "same"
            # Not at a few moments: losses of a short queue come together.
            sure = chance < CHANCE / len(tried) and waits.sum() >= mine.sum() / 3
            if (starves and sure) or (ratio is not None and ratio > 2.5):
                treated = "worse"
            elif starves:
                treated = "unknown"
            elif ratio is not None and ratio < 0.35:
                treated = "better"
        kept = flow.tos[got] >> 2
        arrived_as = int(np.bincount(kept).argmax()) if len(kept) else None
        found.append(CodePoint(dscp, int(mine.sum()), float(lost), delay, arrived_as, treated))
    return tuple(sorted(found, key=lambda each: each.dscp))


def by_chance(lost: int, of: int, share: float) -> float:
    """How likely it is that so many are lost, or more, where each is with this probability."""
    return sum(math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(lost, of + 1))


def _bleached(points: tuple[CodePoint, ...]) -> bool | None:
    seen = [each.arrived_as for each in points if each.dscp and each.arrived_as is not None]
    return all(each == 0 for each in seen) if seen else None


def _share_marked(phase: Phase | None, flow: int) -> float | None:
    if phase is None:
        return None
    records = phase.flows[flow]
    arrived = int((~records.lost).sum())
    return float(records.marked.sum() / arrived) if arrived >= FEW else None


def _ecn_kept(gentle: Phase | None, ecn: Phase | None) -> bool | None:
    seen = []
    for phase, flow in ((gentle, 0), (ecn, 1)):
        if phase is not None:
            tos = phase.flows[flow].tos
            tos = tos[tos >= 0]
            if len(tos) >= FEW:
                seen.append(bool(((tos & 3) != 0).mean() > 0.5))
    return all(seen) if seen else None


def _low_latency(phase: Phase) -> float | None:
    fast, usual = (_percentile(phase.delays(n), 50) for n in (1, 2))
    return None if fast is None or usual is None or usual <= 0 else fast / usual


__all__ = [
    "FEW",
    "LAW_MOST",
    "Apart",
    "CodePoint",
    "Features",
    "Signals",
    "codel_clock",
    "codel_law",
    "of",
    "signals",
]
