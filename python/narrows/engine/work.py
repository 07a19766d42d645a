"""Guesses how much work a run is, from its plan alone, in packets: to start long runs first and to say
what is left.

Only ratios between runs matter; the measured time of finished runs turns them into seconds. It is a guess,
and no number of a result rests on it.
"""

from narrows.plan.items import AtTime, Command, IcmpEcho, TcpBulk, UdpProbe
from narrows.plan.model import Plan

BOOT_PACKETS = 1_500_000.0
"""What boot, set-up, power-off and reading of the results cost, in packets' worth of time: most of a short
run at a low rate. Of 484 runs of bulk flows the cost by this work spread by 4.6 from the 5th percentile to
the 95th; by 20,000 it was 25."""
COMMAND_S = {"ndt7": 20.0, "iperf3": 10.0}
UNKNOWN_S = 10.0
UNKNOWN_RATE_BPS = 1e9
SYSTEM_CALLS_OF_IPERF3 = 8.0
"""iperf3 reads and writes in small pieces; each system call costs tens of packets' worth of work."""
BROWSER_PACKETS_PER_S = 150_000.0
"""What a virtual second of a browser costs, in packets' worth of time."""
ACKS = 1.5  # packets in both directions per data packet


def duration_s(plan: Plan) -> float:
    """How long traffic will probably last in virtual time."""
    ends: dict[str, float] = {}
    for item in plan.traffic:
        start = item.start
        begin = (
            start.at_ns / 1e9
            if isinstance(start, AtTime)
            else ends.get(start.after, 0.0) + start.delay_ns / 1e9
        )
        if isinstance(item.stop, AtTime):
            ends[item.id] = item.stop.at_ns / 1e9
        elif isinstance(item, Command) and not item.background and item.stop is None:
            ends[item.id] = begin + COMMAND_S.get(item.tool, UNKNOWN_S)
        else:
            ends[item.id] = begin
    return min(max(ends.values(), default=UNKNOWN_S) or UNKNOWN_S, plan.limit_ns / 1e9)


def expected_work(plan: Plan) -> float:
    """Packets that will probably cross the bottleneck, and what a boot costs."""
    seconds = duration_s(plan)
    fast = [
        item
        for item in plan.traffic
        if isinstance(item, TcpBulk) or (isinstance(item, Command) and not item.background)
    ]
    packets = BOOT_PACKETS
    if fast:
        rate = max(plan.link.rate_down_bps or 0, plan.link.rate_up_bps or 0) or UNKNOWN_RATE_BPS
        stock = any(isinstance(item, Command) and item.tool == "iperf3" for item in fast)
        cost = ACKS * (SYSTEM_CALLS_OF_IPERF3 if stock else 1.0)
        packets += seconds * rate / (8 * plan.link.mtu_bytes) * cost
    # Only what starts a browser needs memory of its own.
    browsers = sum(isinstance(item, Command) and item.memory_bytes > 0 for item in plan.traffic)
    packets += BROWSER_PACKETS_PER_S * seconds * browsers
    for item in plan.traffic:
        if isinstance(item, UdpProbe | IcmpEcho):
            packets += 2 * seconds * 1e9 / item.interval_ns
    return packets
