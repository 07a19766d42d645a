"""What a run's link carried in a time, by its plan: also where its rate moves or `link.at` changes it, where
two shapers stand in a row or the line is slower than they, where a shaper counts more than the frame, and
where a bucket lets a burst pass.

The plan is the truth: nothing measured is read here but the packets that emptied a bucket.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from narrows.headers import (
    ETHERNET_HEADER_BYTES,
    QUIC_HEADERS_BYTES,
    TCP_IPV4_HEADERS_BYTES,
    UDP_IPV4_HEADERS_BYTES,
)
from narrows.media.schedule import NOT_KEPT, Schedule, decoded
from narrows.metrics.rate.bucket import bucket_levels
from narrows.metrics.rate.capacity import mean_capacity_bps
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.metrics.statistics.arrays import Floats
from narrows.plan import wire
from narrows.plan.bottlenecks import line_limits
from narrows.plan.model import HOME_HOP, ISP_HOP, Counted, LinkDirection, Plan
from narrows.tools import reading

_LAYERS: dict[str, tuple[int | None, int]] = {
    reading.PAYLOAD: (None, TCP_IPV4_HEADERS_BYTES),
    reading.UDP_PAYLOAD: (None, UDP_IPV4_HEADERS_BYTES),
    reading.QUIC_PAYLOAD: (None, UDP_IPV4_HEADERS_BYTES + QUIC_HEADERS_BYTES),
    reading.IP: (None, 0),
    reading.IP_OF_1250: (1250, 0),
    reading.WIRE: (None, -ETHERNET_HEADER_BYTES),
}
"""Which IP packets a layer's rate is of (None: full ones), and how many bytes of each are not counted."""

Window = tuple[int, int]
Steps = tuple[tuple[int, int], ...]
"""Times in nanoseconds, each with the rate in bit/s from then on."""


def slower_hop(plan: Plan, direction: str) -> str | None:
    """The place of the slower of a Home's two shapers in a row; None: there is one place only."""
    if plan.link.home is None:
        return None
    home, isp = _at_home(plan, direction), _set_bps(plan, direction)
    own = None if home is None else home.rate_bps
    return HOME_HOP if own is not None and (isp is None or own < isp) else ISP_HOP


def shaper(plan: Plan, direction: str) -> LinkDirection:
    """The direction of the link that limits it: of a Home, that of the slower shaper."""
    home = _at_home(plan, direction)
    return home if home is not None and slower_hop(plan, direction) == HOME_HOP else _of(plan, direction)


def rate_steps(plan: Plan, direction: str) -> Steps:
    """The rate of the slowest shaper, or of the line, over time; empty where nothing limits."""
    rate, home = _set_bps(plan, direction), _at_home(plan, direction)
    moving = () if plan.moving is None else plan.moving.down if direction == "down" else plan.moving.up
    found = tuple((step.at_ns, step.rate_bps) for step in moving)
    if not found and rate is not None:
        found = ((0, rate),)
    others = [each for each in (None if home is None else home.rate_bps, plan.link.line_rate_bps) if each]
    if not others:
        return found
    return tuple((at, min(bps, *others)) for at, bps in found) if found else ((0, min(others)),)


def medium_bps(plan: Plan, direction: str) -> int | None:
    """What the medium of a direction could carry on average over its whole schedule; None where there is
    none, or its turns are not kept."""
    for medium in plan.media:
        if medium.direction == direction and medium.turns != NOT_KEPT:
            if medium.by_demand:
                return rate_steps(plan, direction)[0][1]
            return _fixed_bps(medium.unit_ns, medium.turns, medium.repeat_ns)
    return None


@lru_cache(maxsize=64)
def _fixed_bps(unit_ns: int, turns: str, repeat_ns: int) -> int:
    """The mean of fixed turns, whatever packets there are."""
    return Schedule(decoded(unit_ns, turns), repeat_ns).mean_bps(0)


def shares_air(plan: Plan) -> bool:
    """Whether each way's packets, acknowledgements too, take of what the other could carry. How much depends
    on who waits when, so of such a medium it is only known what one way has while the other is silent."""
    air = {medium.direction: medium.air for medium in plan.media if medium.by_demand}
    return len(air) > 1 and len(set(air.values())) == 1


def given_bits(steps: Steps, t_ns: Floats) -> Floats:
    """The bits that the rate gave from 0 until each time in nanoseconds."""
    at, bps = (np.array(column, dtype=np.float64) for column in zip(*steps, strict=True))
    at[0] = 0.0
    whole = np.concatenate(([0.0], np.cumsum(np.diff(at) * bps[:-1])))
    place = np.maximum(np.searchsorted(at, t_ns, side="right") - 1, 0)
    found: Floats = (whole[place] + (t_ns - at[place]) * bps[place]) / 1e9
    return found


def capacity_bps(plan: Plan, direction: str, window: Window | None) -> float | None:
    """The mean rate of the link in a direction within a window in nanoseconds, or its first rate where no
    window is known; None where nothing shapes. Of shared air what it is while the other way is silent."""
    steps = rate_steps(plan, direction)
    if not steps:
        return None
    return float(steps[0][1]) if window is None else mean_capacity_bps(steps, window)


def possible_goodput_bps(plan: Plan, direction: str, window: Window | None) -> float | None:
    """The TCP payload that full packets could have had in a window, in bit/s; None where nothing shapes, the
    link was down throughout, or the ways share the air."""
    rate = None if shares_air(plan) else capacity_bps(plan, direction, window)
    return goodput_of(plan, direction, rate) if rate else None


def goodput_of(plan: Plan, direction: str, rate_bps: float) -> float:
    """TCP payload of full packets at a rate of the shaper, by what it counts of them."""
    mtu = plan.link.mtu_bytes
    counted = wire.counted_bytes(_counted(plan, direction), mtu)
    return largest_goodput_bps(rate_bps, mtu, TCP_IPV4_HEADERS_BYTES, counted - mtu)


def payload_share(plan: Plan, direction: str, layer: str) -> float:
    """TCP payload that full packets would carry in the time that a byte of a layer takes on the link."""
    mtu, (packet_bytes, headers) = plan.link.mtu_bytes, _LAYERS[layer]
    length = mtu if packet_bytes is None else min(packet_bytes, mtu)
    counted = _counted(plan, direction)
    time = wire.counted_bytes(counted, length) / wire.counted_bytes(counted, mtu)
    return time * (mtu - TCP_IPV4_HEADERS_BYTES) / (length - headers)


def counted_bytes(plan: Plan, direction: str, frames: NDArray[np.int64]) -> Floats:
    """What the shaper counts of frames of these lengths (with the Ethernet header)."""
    counted = _counted(plan, direction)
    if counted == wire.FRAME:
        return frames.astype(np.float64)
    different, place = np.unique(frames, return_inverse=True)
    sizes = [wire.counted_bytes(counted, int(length) - ETHERNET_HEADER_BYTES) for length in different]
    return np.asarray(sizes, dtype=np.float64)[place]


@dataclass(frozen=True)
class Carried:
    """What a direction could carry in some spans: bits as its shaper counts them, and how much of that was
    in the bucket when a span began."""

    bits: float
    of_bucket: float


def could_carry(
    plan: Plan, direction: str, spans: Sequence[Window], t_ns: Floats, counted: Floats
) -> Carried | None:
    """All that could pass in these spans; None where nothing shapes or the ways share the air. Packets are
    all that left, in order of time, as the shaper counts them."""
    steps = rate_steps(plan, direction)
    if not steps or shares_air(plan):
        return None
    levels = _levels(plan, direction, [start for start, _ in spans], steps, t_ns, counted)
    line = plan.link.line_rate_bps
    bits = of_bucket = 0.0
    for (start, stop), level in zip(spans, levels, strict=True):
        seconds = (stop - start) / 1e9
        by_rate = mean_capacity_bps(steps, (start, stop)) * seconds
        burst = 8.0 * level
        if line is not None:
            burst = min(burst, max(0.0, line * seconds - by_rate))
        bits += by_rate + burst
        of_bucket += burst
    return Carried(bits, of_bucket)


def base_delay_steps(plan: Plan) -> Steps:
    """How much longer than at the start the base RTT is over time, in nanoseconds; empty: never."""
    ways = (plan.link.down, plan.link.up)
    times = sorted({change.at_ns for way in ways for change in way.changes})
    found = []
    for at in times:
        more = 0
        for way in ways:
            now = [change.delay_ns for change in way.changes if change.at_ns <= at]
            more += now[-1] - way.delay_ns if now else 0
        found.append((at, more))
    return tuple(found) if any(more for _, more in found) else ()


def base_delay_ns(plan: Plan, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """`base_delay_steps` at these times."""
    steps = base_delay_steps(plan)
    if not steps:
        return np.zeros(t_ns.shape, dtype=np.int64)
    at, more = (np.array(column, dtype=np.int64) for column in zip((-(1 << 62), 0), *steps, strict=True))
    found: NDArray[np.int64] = more[np.searchsorted(at, t_ns, side="right") - 1]
    return found


def _levels(
    plan: Plan, direction: str, at_ns: Sequence[int], steps: Steps, t_ns: Floats, counted: Floats
) -> list[float]:
    """What the bucket held at these times, in bytes: 0 where the shaper has none of more than a packet."""
    if line_limits(plan, direction):
        return [0.0] * len(at_ns)
    way = shaper(plan, direction)
    depths = [depth for depth in (way.burst_bytes, way.cburst_bytes) if depth is not None]
    if not depths:
        return [0.0] * len(at_ns)
    return bucket_levels(
        min(depths), t_ns, counted, lambda t: given_bits(steps, t) / 8.0, [float(at) for at in at_ns]
    )


def _counted(plan: Plan, direction: str) -> Counted:
    own = None if line_limits(plan, direction) else shaper(plan, direction).counted
    return own or wire.FRAME


def _of(plan: Plan, direction: str) -> LinkDirection:
    return plan.link.down if direction == "down" else plan.link.up


def _set_bps(plan: Plan, direction: str) -> int | None:
    return plan.link.rate_down_bps if direction == "down" else plan.link.rate_up_bps


def _at_home(plan: Plan, direction: str) -> LinkDirection | None:
    home = plan.link.home
    return None if home is None else home.down if direction == "down" else home.up
