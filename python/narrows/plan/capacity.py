"""What a run will need, and the limits that it must keep: memory, ports, file handles, a qdisc's counters.

Everything here is known from the plan, so what cannot fit is refused before anything starts, with the number
that does not fit. The estimate of memory is made to be too high rather than too low: every packet that the
windows and the queue can hold, at once. Nothing of it enters a result.
"""

from collections import defaultdict
from collections.abc import Iterable

from narrows import qdiscs
from narrows.errors import PlanError
from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.plan.items import Command, TcpBulk, TrafficItem
from narrows.plan.model import LinkSummary, Plan
from narrows.units import NS_PER_S

MIB = 1024 * 1024
BASE_BYTES = 48 * MIB
"""The kernel, the agent, page tables, and what a few sockets need."""
FLOW_BYTES = 24 * 1024
"""Two sockets, their files and timers."""
PACKET_BYTES = 7168
"""A full packet under way: the skb pair and head of the sender's retransmission queue, what the sender has
written ahead of it, the head that the router copied; and, behind a gap that a flow does not slow down for
(BBR), its like in the receiver's out-of-order queue. With 4096, 1000 such flows ran out of memory."""
ACK_BYTES = 1024
"""An acknowledgement that netem holds."""
NODE_BYTES = 4 * MIB
ROUNDED_TO = 256 * MIB
BROWSER_BYTES = 2048 * MIB
"""A browser is many processes."""

PORTS = 60999 - 32768 + 1
"""net.ipv4.ip_local_port_range, which every run pins: flows of one node to one address and port."""
FILE_HANDLES = 1_000_000
"""The agent raises its limit up to the kernel's fs.nr_open (1048576); each flow has two sockets."""
LEAST_RATE_BPS = 1000
"""At the IP layer: the least that the agent's calibration measures."""
TCP_BUFFER_MOST = 2**30


def packets_under_way(link: LinkSummary) -> int:
    """Full packets that windows and queue can hold: rate × longest base RTT, and the queue's limit."""
    rate = link.rate_down_bps or link.rate_up_bps or link.line_rate_bps or 0
    frame = link.mtu_bytes + ETHERNET_HEADER_BYTES
    return rate * link.base_rtt_ns // (8 * NS_PER_S * frame) + queue_bytes(link) // frame


def queue_bytes(link: LinkSummary) -> int:
    """The most that the downstream queue may hold, 0 where its limit is not in its options."""
    down = link.down
    kind = qdiscs.named(down.queue)
    if kind is not None and "limit" not in kind.options:
        return down.memory_limit_bytes or 0
    if down.limit_packets is not None:
        return down.limit_packets * (link.mtu_bytes + ETHERNET_HEADER_BYTES)
    return down.limit_bytes or 0


def tcp_buffer_bytes(link: LinkSummary) -> int:
    """The largest TCP buffer that one flow of a Dumbbell can need: the whole path and queue, twice for the
    kernel's accounting of what skbs occupy, twice for its autotuning."""
    held = packets_under_way(link) * link.mtu_bytes
    return min(max(4 * held, 32 * MIB), TCP_BUFFER_MOST)


def memory_needed(link: LinkSummary, traffic: Iterable[TrafficItem], nodes: int, held_bytes: int = 0) -> int:
    """Bytes of guest memory, rounded up. `held_bytes`: what programs keep of their data."""
    traffic = tuple(traffic)
    flows = sum(item.flows for item in traffic if isinstance(item, TcpBulk))
    packets = packets_under_way(link)
    rate = link.rate_down_bps or 0
    acks = rate * link.base_rtt_ns // (8 * NS_PER_S * (link.mtu_bytes + ETHERNET_HEADER_BYTES))
    need = BASE_BYTES + flows * FLOW_BYTES + nodes * NODE_BYTES
    need += packets * PACKET_BYTES + acks * ACK_BYTES
    if held_bytes:  # else programs have the whole of a guest, as path and queue have
        need += held_bytes + programs_need(traffic)
    return -(-need // ROUNDED_TO) * ROUNDED_TO


def socket_table_entries(traffic: Iterable[TrafficItem]) -> int:
    """Entries of the kernel's table of TCP connections, a power of two.

    Whoever samples connections walks all of it, hence no more than the flows need. Sixteen for each flow:
    both of its sockets are nearly always found first, and not behind another one that has left the caches.
    """
    flows = sum(item.flows for item in traffic if isinstance(item, TcpBulk))
    return min(max(2048, 1 << (16 * flows - 1).bit_length()), 131072) if flows else 2048


def programs_need(traffic: Iterable[TrafficItem]) -> int:
    """Bytes of guest memory that outside programs need beyond the usual."""
    return sum(item.memory_bytes for item in traffic if isinstance(item, Command))


def check(plan: Plan, where: str | None = None) -> None:
    """Refuse what cannot be; the message names the number that does not fit and the one that would."""
    _check_rate(plan, where)
    _check_queue(plan, where)
    _check_flows(plan, where)
    if plan.link.pairs:
        need = memory_needed(plan.link, plan.traffic, len(plan.nodes))
        have = plan.machine.memory_bytes
        if need > have:
            raise PlanError(
                f"{packets_under_way(plan.link)} packets under way and {_flows(plan)} flows may need "
                f"{need // MIB} MiB of memory; the machine has {have // MIB} MiB",
                where=where,
                remedy=f'machine(memory="{need // MIB} MiB"), or leave memory out',
            )


def _flows(plan: Plan) -> int:
    return sum(item.flows for item in plan.traffic if isinstance(item, TcpBulk))


def _check_rate(plan: Plan, where: str | None) -> None:
    for way, rate in (("down", plan.calibration.rate_down_bps), ("up", plan.calibration.rate_up_bps)):
        if rate is not None and rate < LEAST_RATE_BPS:
            raise PlanError(
                f"the rate {way} is {rate} bit/s at the IP layer; calibration needs {LEAST_RATE_BPS}",
                where=where,
                remedy='at least "2 kbit/s"',
            )


def _check_queue(plan: Plan, where: str | None) -> None:
    for way, direction in (("down", plan.link.down), ("up", plan.link.up)):
        frame = plan.link.mtu_bytes + ETHERNET_HEADER_BYTES
        least = direction.limit_bytes
        if least is not None and least < frame:
            raise PlanError(
                f"the limit of {direction.queue} ({way}) is {least} bytes, less than one frame of {frame}",
                where=where,
                remedy=f'at least "{frame} B", or no full packet ever passes',
            )


def _check_flows(plan: Plan, where: str | None) -> None:
    by_end: dict[tuple[str, str, int], int] = defaultdict(int)
    for item in plan.traffic:
        if isinstance(item, TcpBulk):
            by_end[item.sender, item.receiver_address, item.port] += item.flows
    for (sender, _, port), flows in by_end.items():
        if flows > PORTS:
            raise PlanError(
                f"{flows} flows from {sender} to port {port}; a node has {PORTS} ports for them",
                where=where,
                remedy=f'spread them: pair("20 ms", senders={-(-flows // PORTS)}) of a Dumbbell',
            )
    handles = 2 * _flows(plan) + 1024
    if handles > FILE_HANDLES:
        raise PlanError(
            f"{_flows(plan)} flows need {handles} file handles; a process may have {FILE_HANDLES}",
            where=where,
            remedy=f"at most {(FILE_HANDLES - 1024) // 2} flows",
        )
