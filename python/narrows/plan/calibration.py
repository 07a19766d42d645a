"""What the idle rig must show, and how much time it is given for that before the epoch."""

import math

from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.plan import wire
from narrows.plan.expand import ResolvedRun
from narrows.plan.model import (
    USUAL_ECHOES,
    Calibration,
    CalibrationPath,
    HomeHost,
    LinkDirection,
    LinkSummary,
)
from narrows.plan.topology import Topology
from narrows.spec.home import Home
from narrows.spec.link import Link
from narrows.tc.qdisc import Qdisc
from narrows.units import NS_PER_S

EPOCH_NS = 3 * NS_PER_S
EPOCH_RTTS = 50
"""The epoch comes later on long paths: calibration exchanges many packets one by one."""
OTHER_PATH_NS, OTHER_PATH_RTTS = NS_PER_S, 10
"""What calibration takes for each further sender of a Dumbbell: twenty echoes and their patience."""
CALIBRATION_NS, CALIBRATION_PACKETS = 2_430_000_000, 100
"""The usual time before the epoch has room for so many full packets each way, in a queue that stands or else
paced."""
SLOW_SLACK = 1.25
"""What else a slow calibration takes: the queue of the train before, the first packet's way."""
SHALLOW_S = 0.55
LOST_ECHOES_NS = 2 * NS_PER_S
ECHO_NS = 15_000_000
"""What an echo beyond the usual ones takes, with the half as many that may be lost before the first."""
FEW_LOST = 0.1
"""So much lost of a round trip leaves half of the usual echoes but once in a million."""
LOST_BETWEEN = 32
"""Losses before the tenth echo that comes back, in mean runs of losses: ten runs of geometric length have
more in two of a million cases (Erlang's distribution of ten)."""
SECOND_TRAIN_NS = NS_PER_S
RTT_TOLERANCE_NS = 200_000
NATIVE_RTT_TOLERANCE_NS = 1_000_000
"""The tolerance of a path to which nothing is added: what a real host's stack and scheduler may take."""
RTT_TOLERANCE = 0.02
RATE_TOLERANCE = 0.02
CALIBRATION_PACKET_BYTES = 200
"""Upper bound of what the RTT probe's packets take on the wire, for their serialisation time."""


def epoch_ns(link: LinkSummary, echoes: int) -> int:
    """When traffic may first start: long and slow paths, deep buckets, much loss and further senders take
    more time."""
    return (
        EPOCH_NS
        + _up_to_seconds(EPOCH_RTTS * link.base_rtt_ns)
        + _up_to_seconds(sum(OTHER_PATH_NS + OTHER_PATH_RTTS * rtt for rtt in _other_rtts_ns(link)))
        + _up_to_seconds(_emptying_ns(link))
        + _up_to_seconds(_slow_ns(link, echoes))
        + _two_trains_ns(link)
    )


def calibration(run: ResolvedRun, topology: Topology, link: LinkSummary) -> Calibration:
    """What the idle rig must show. A qdisc counts the Ethernet header, the IP layer does not."""
    client, server = topology.named("client")[0], topology.named("server")[0]
    timers = run.machine["timer_latency"]
    timer_ns = timers[1].ns if timers else 0
    jitter_ns = link.down.jitter_ns + link.up.jitter_ns
    serialisation_ns = 0
    ip_rates: list[int | None] = []
    at_home: tuple[LinkDirection | None, ...] = (None, None)
    host: HomeHost | None = None
    if link.home is not None:
        at_home, host = (link.home.down, link.home.up), link.home.hosts[0]
        jitter_ns += host.jitter_ns
    for direction, before, flow in zip((link.down, link.up), at_home, _of_one_flow(run.link), strict=True):
        shapers = [
            (link.line_rate_bps, wire.FRAME),
            *(
                (each.rate_bps, each.counted or wire.FRAME)
                for each in (direction, before)
                if each is not None
            ),
        ]
        at_ip_layer = [
            rate * link.mtu_bytes // wire.counted_bytes(counted, link.mtu_bytes)
            for rate, counted in shapers
            if rate is not None
        ]
        least = min(at_ip_layer, default=None)
        # One flow cannot show the rate of a link of which fq leaves it less, nor of one that doubles packets.
        shows = run.link["duplicate"] == 0 and not (flow is not None and least is not None and flow < least)
        ip_rates.append(least if shows else None)
        serialisation_ns += sum(
            max(CALIBRATION_PACKET_BYTES, counted.mpu_bytes) * 8 * NS_PER_S // rate
            for rate, counted in shapers
            if rate is not None
        )
    # Each direction passes two timers: the shaper's and netem's.
    least_ns = RTT_TOLERANCE_NS if link.base_rtt_ns else NATIVE_RTT_TOLERANCE_NS
    tolerance_ns = max(least_ns, int(RTT_TOLERANCE * link.base_rtt_ns))
    hurried_ns = link.base_rtt_ns if run.link["reorder"] else 0
    lossy = bool(hurried_ns or link.down.loss_percent or link.up.loss_percent or (host and host.loss_percent))
    rtts = [(node, pair.base_rtt_ns) for pair in link.pairs for node in pair.senders]
    return Calibration(
        client=client,
        server=server,
        server_address=topology.address(server),
        client_address=topology.address(client),
        rtt_ns=rtts[0][1] if rtts else link.base_rtt_ns + (host.delay_ns if host else 0),
        rtt_tolerance_ns=tolerance_ns + serialisation_ns + jitter_ns + 4 * timer_ns + hurried_ns,
        rate_down_bps=ip_rates[0],
        rate_up_bps=ip_rates[1],
        rate_tolerance=RATE_TOLERANCE,
        # Late timers, loss and jitter may keep the rig under its rate, and so may a shaper that sets its own.
        rate_is_upper_bound=bool(
            timer_ns or lossy or jitter_ns or _sets_own_rate(link) or _counts_drops(run.link)
        ),
        others=tuple(
            CalibrationPath(server=node, server_address=topology.address(node), rtt_ns=rtt_ns)
            for node, rtt_ns in rtts[1:]
        ),
        echoes=echoes(link, run.link["loss_burst"]),
    )


def echoes(link: LinkSummary, loss_burst: float) -> int:
    """How many echoes half of the usual ones surely come back of."""
    down, up = (1 - each.loss_percent / 100 for each in (link.down, link.up))
    if link.home is not None:
        down *= 1 - link.home.hosts[0].loss_percent / 100
    if down * up == 1 or (loss_burst <= 1 and down * up >= 1 - FEW_LOST):
        return USUAL_ECHOES
    # A run of losses is as long as a burst, and of independent ones 1 / share; what one way loses the other
    # does not count.
    longest = max(max(loss_burst, 1 / down) / up, max(loss_burst, 1 / up) / down)
    return math.ceil(USUAL_ECHOES / 2 + LOST_BETWEEN * longest)


def _queues(link: Link) -> tuple[list[Qdisc | None], list[Qdisc | None]]:
    """The queues of the way down, and of the way up."""
    down, up = [link["queue"], link["host_queue"]], [link.up("queue"), link["host_queue"]]
    if isinstance(link, Home):
        down.append(link["router"]["ingress"])
        up.append(link["router"]["egress"])
    return down, up


def _counts_drops(link: Link) -> bool:
    """CAKE's `ingress` takes what it drops for sent: a train that overruns its memory, or that no shaper
    before it has slowed down, as a medium before t = 0, gets less."""
    ways = zip(_queues(link), link.media(), strict=True)
    every = [(queue, medium is not None) for queues, medium in ways for queue in queues]
    return any(
        q is not None and q.values.get("ingress") and (is_sudden or q.values.get("memlimit") is not None)
        for q, is_sudden in every
    )


def _of_one_flow(link: Link) -> tuple[int | None, int | None]:
    """The least rate that fq leaves a flow, down and up: calibration's train is one."""
    queues = _queues(link)
    found = ([q["maxrate"].bps for q in way if q is not None and q.values.get("maxrate")] for way in queues)
    down, up = (min(rates, default=None) for rates in found)
    return down, up


def _sets_own_rate(link: LinkSummary) -> bool:
    """Whether a shaper follows what arrives."""
    home = (link.home.down, link.home.up) if link.home is not None else ()
    return any(way.sets_own_rate for way in (link.down, link.up, *home) if way is not None)


def _emptying_ns(link: LinkSummary) -> int:
    """How long calibration needs to see a deep bucket empty and fill again, both ways, behind the line.

    A line of the rate or less never empties it. Behind an unlimited line the train does, at some three times
    the rate; the usual time has room for a bucket of `SHALLOW_S`.
    """
    span = 0.0
    for direction in (link.down, link.up):
        line, rate, burst = link.line_rate_bps, direction.rate_bps, direction.burst_bytes
        if rate is None or burst is None:
            continue
        if line is None:
            span = max(span, 1.5 * (burst * 8 / rate - SHALLOW_S))
        elif line > rate:
            span = max(span, burst * 8 / (line - rate) + burst * 8 / rate)
    # each way has half of the time, and half as much again to be sure
    return int(3 * span * NS_PER_S)


def _slow_ns(link: LinkSummary, echoes: int) -> int:
    """What calibration may need beyond the usual: packets that take long, and echoes that are lost."""
    at_home = (link.home.down, link.home.up) if link.home is not None else (None, None)
    packets_ns = sum(
        max(_packets_ns(each, link.mtu_bytes) for each in ways)
        for ways in zip((link.down, link.up), at_home, strict=True)
    )
    lossy = link.down.loss_percent or link.up.loss_percent
    lost_ns = LOST_ECHOES_NS if lossy else 0
    more_ns = (1 + len(_other_rtts_ns(link))) * (echoes - USUAL_ECHOES) * ECHO_NS
    return max(0, int(SLOW_SLACK * packets_ns) + lost_ns + more_ns - CALIBRATION_NS)


def _packets_ns(direction: LinkDirection | None, mtu_bytes: int) -> int:
    """How long so many full packets take."""
    if direction is None or not direction.rate_bps:
        return 0
    frame = max(
        wire.counted_bytes(direction.counted or wire.FRAME, mtu_bytes), mtu_bytes + ETHERNET_HEADER_BYTES
    )
    return CALIBRATION_PACKETS * frame * 8 * NS_PER_S // direction.rate_bps


def _two_trains_ns(link: LinkSummary) -> int:
    """Where a train through one shaper may not tell the rate of two in a row, or a policer holds no queue, a
    second one is sent."""
    of_policer = 0
    if "policer" in (link.shaper, link.shaper_up):
        # From hole to hole of a train: one packet of twenty.
        packets_ns = _packets_ns(link.down, link.mtu_bytes) + _packets_ns(link.up, link.mtu_bytes)
        buckets_ns = sum(
            (each.burst_bytes or 0) * 8 * NS_PER_S // each.rate_bps
            for each in (link.down, link.up)
            if each.rate_bps
        )
        of_policer = max(SECOND_TRAIN_NS, 2 * packets_ns + buckets_ns)
    return of_policer + (SECOND_TRAIN_NS if link.home is not None else 0)


def _other_rtts_ns(link: LinkSummary) -> list[int]:
    return [pair.base_rtt_ns for pair in link.pairs for _ in pair.senders][1:]


def _up_to_seconds(span_ns: int) -> int:
    """Whole seconds, rounded down below one second: short paths keep the usual epoch."""
    return 0 if span_ns < NS_PER_S else -(-span_ns // NS_PER_S) * NS_PER_S
