"""What a shaper is set to, and when, so that it follows a rate that moves.

HTB and CAKE charge a packet its time at the rate that is in force when it leaves. So the rate in force is the
mean rate over the time that a full frame takes from then on: a frame that leaves now is charged until the
moment at which the moving rate has carried it. Where a frame takes less than `SLICE_NS` that is the rate
itself; where it takes longer, and in an outage, the shaper is set anew every `SLICE_NS`, and its bucket is
one frame. Neither knows a rate of 0: in an outage one frame at most leaves, and the link is open again within
a slice of its end. Nothing here runs a command.
"""

from collections.abc import Sequence

from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.media.schedule import capacity_steps
from narrows.plan import home, linux
from narrows.plan.bottleneck import DirectionSpec, shaper_words
from narrows.plan.model import CapacityStep, MovingRates, MovingShaper, RateStep
from narrows.plan.topology import Topology
from narrows.spec.home import Home
from narrows.spec.link import Link
from narrows.spec.moving_rate import MovingRate, Step
from narrows.units import NS_PER_S, Rate

BIN_NS = 100_000_000
"""What a medium could carry is told as the mean over so long."""
SLICE_NS = 10_000_000
LEAST_BPS = 8
"""A byte per second: the least that HTB can be set to."""


def moving_rates(topology: Topology, link: Link, end_ns: int) -> MovingRates | None:
    """The changes of a run that ends then; None where the rate stays."""
    state = linux.initial_state(link)
    directions = linux.directions(link, state)
    rates = (link["rate"], link.up("rate"))
    cables = (topology.bottleneck_down_cable, topology.bottleneck_up_cable)
    shapers = []
    for rate, cable, direction in zip(rates, cables, directions, strict=True):
        if isinstance(rate, MovingRate) and cable is not None:
            iface = topology.at(topology.bottleneck, cable).name
            shapers.append(_shaper(topology.bottleneck, iface, rate, direction, end_ns))
    if isinstance(link, Home):
        for way, iface_ in (("down", home.ifb(topology, link)), ("up", topology.wan.name)):
            at_home = home.direction(link, way, linux.base_rtt(state))
            if at_home is not None and iface_ is not None and isinstance(at_home.rate, MovingRate):
                shapers.append(_shaper(topology.wan.node, iface_, at_home.rate, at_home, end_ns))
    down, up = (_capacity(rate, link, index, end_ns) for index, rate in enumerate(rates))
    if not (down or up or shapers):
        return None
    return MovingRates(shapers=tuple(shapers), down=down, up=up)


def _shaper(node: str, iface: str, rate: MovingRate, direction: DirectionSpec, end_ns: int) -> MovingShaper:
    kind = direction.shaper_kind()
    assert kind in ("htb", "cake")  # narrows.spec has refused the others
    return MovingShaper(
        node=node,
        iface=iface,
        shaper="htb" if kind == "htb" else "cake",
        quantum_bytes=int(shaper_words(direction).get("quantum", 0)),
        steps=followed(
            rate, direction.mtu_bytes + ETHERNET_HEADER_BYTES, direction.burst_bytes() or 0, end_ns
        ),
    )


def described(link: Link) -> tuple[str, ...]:
    """That a rate moves, in words; the name of a trace is no part of a run."""
    made = [
        f"the way {way} is a medium: {medium.described()}, {medium.mean(way, link['mtu'])} on average"
        for way, medium in zip(("down", "up"), link.media(), strict=True)
        if medium is not None
    ]
    for way, rate in (("down", link["rate"]), ("up", link.up("rate"))):
        if isinstance(rate, MovingRate):
            all_bps = [bps for _, bps in rate.steps]
            span = f"{Rate(min(all_bps))} to {Rate(max(all_bps))}"
            made.append(f"the rate {way} moves: {span}, {Rate(rate.bps)} on average")
    return tuple(made)


def _capacity(rate: Rate, link: Link, index: int, end_ns: int) -> tuple[CapacityStep, ...]:
    """The truth of a direction (0 is down), also of what `link.at` changes; empty where the rate stays."""
    medium = link.media()[index]
    if medium is not None:
        found = capacity_steps(medium.schedule(("down", "up")[index]), end_ns, BIN_NS, link["mtu"])
        return tuple(CapacityStep(at_ns=at, rate_bps=bps) for at, bps in found)
    if isinstance(rate, MovingRate):
        steps = list(rate.until(end_ns))
    else:
        steps = [(0, rate.bps)]
        for at_ns, rates in linux.rate_changes(link):
            if rates[index].bps != steps[-1][1]:
                steps.append((at_ns, rates[index].bps))
    if len(steps) < 2:
        return ()
    return tuple(CapacityStep(at_ns=at, rate_bps=bps) for at, bps in steps)


def followed(rate: MovingRate, frame_bytes: int, burst_bytes: int, end_ns: int) -> tuple[RateStep, ...]:
    """What the shaper is set to until the end."""
    frame_bits = frame_bytes * 8
    # A frame that leaves before the end may be charged beyond it.
    steps = list(rate.until(2 * end_ns + 60 * NS_PER_S))
    rate_steps: list[RateStep] = []

    def add(at_ns: int, bps: int, bucket: int) -> None:
        if at_ns < end_ns and (
            not rate_steps or (rate_steps[-1].rate_bps, rate_steps[-1].burst_bytes) != (bps, bucket)
        ):
            rate_steps.append(RateStep(at_ns=at_ns, rate_bps=bps, burst_bytes=bucket))

    for n, (at_ns, bps) in enumerate(steps):
        if at_ns >= end_ns:
            break
        if bps * SLICE_NS >= frame_bits * NS_PER_S:
            add(at_ns, bps, burst_bytes)
            continue
        until_ns = steps[n + 1][0] if n + 1 < len(steps) else end_ns
        for slice_ns in range(at_ns, min(until_ns, end_ns), SLICE_NS):
            needs_ns = _time_for(frame_bits, steps, n, slice_ns)
            slow = LEAST_BPS if needs_ns is None else max(LEAST_BPS, frame_bits * NS_PER_S // needs_ns)
            add(slice_ns, slow, 0)
    return tuple(rate_steps)


def _time_for(bits: int, steps: Sequence[Step], n: int, from_ns: int) -> int | None:
    """How long the moving rate takes to carry so many bits from a time within its n-th step; None: never."""
    left = bits * NS_PER_S
    at_ns = from_ns
    for m in range(n, len(steps)):
        bps = steps[m][1]
        if m + 1 == len(steps):
            return None if not bps else at_ns - from_ns + -(-left // bps)
        end_ns = steps[m + 1][0]
        if bps and bps * (end_ns - at_ns) >= left:
            return at_ns - from_ns + -(-left // bps)
        left -= bps * (end_ns - at_ns)
        at_ns = end_ns
    return None
