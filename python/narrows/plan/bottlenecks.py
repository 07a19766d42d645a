"""Where on a link packets wait: which of what limits it each way is the slowest, by the plan alone."""

from narrows import qdiscs
from narrows.headers import TCP_IPV4_HEADERS_BYTES
from narrows.plan import wire
from narrows.plan.model import BOTTLENECK_HOP, HOME_HOP, ISP_HOP, LinkDirection, Plan
from narrows.plan.strict import Direction
from narrows.units import NS_PER_S, Rate

DIRECTIONS: tuple[Direction, ...] = ("down", "up")


def fastest_bps(plan: Plan, direction: str) -> int | None:
    """The highest rate that the link's own shaper ever has this way; None where nothing shapes."""
    way = plan.link.down if direction == "down" else plan.link.up
    moving = () if plan.moving is None else plan.moving.down if direction == "down" else plan.moving.up
    rates = [way.rate_bps, *(each.rate_bps for each in way.changes), *(step.rate_bps for step in moving)]
    return max((rate for rate in rates if rate is not None), default=None)


def most_payload_bps(plan: Plan, direction: str, over_ns: int = 4 * NS_PER_S) -> float | None:
    """No more TCP payload than this arrives in such a time: full packets at the highest rate of the slowest
    shaper, and its bucket; None where nothing limits."""
    mtu, line = plan.link.mtu_bytes, plan.link.line_rate_bps
    own = plan.link.down if direction == "down" else plan.link.up
    found = [] if line is None else [line * mtu / wire.counted_bytes(wire.FRAME, mtu)]
    home = _home(plan, direction)
    for way, bps in ((own, fastest_bps(plan, direction)), (home, None if home is None else home.rate_bps)):
        if way is not None and bps is not None and not way.sets_own_rate:
            bucket = 8 * NS_PER_S * max(way.burst_bytes or 0, way.cburst_bytes or 0) / over_ns
            found.append((bps + bucket) * mtu / wire.counted_bytes(way.counted or wire.FRAME, mtu))
    return min(found) * (mtu - TCP_IPV4_HEADERS_BYTES) / mtu if found else None


def line_limits(plan: Plan, direction: str) -> bool:
    """Whether the line is slower than the shapers at some time, so that packets wait in it: its netem has no
    tap, and what stands there is not known."""
    line = plan.link.line_rate_bps
    if line is None:
        return False
    own, home = fastest_bps(plan, direction), _home(plan, direction)
    at_home = None if home is None else home.rate_bps
    rates = [rate for rate in (own, at_home) if rate is not None]
    return not rates or min(rates) > line


def idle_queues(plan: Plan) -> list[str]:
    """A line for each queue that does more than hold packets and is not where they wait."""
    lines = []
    for way in DIRECTIONS:
        own, home = fastest_bps(plan, way), _home(plan, way)
        at_home = None if home is None else home.rate_bps
        rates = {"the line": plan.link.line_rate_bps, "the link": own, "the home router": at_home}
        known = {name: rate for name, rate in rates.items() if rate is not None}
        hop = BOTTLENECK_HOP if plan.link.home is None else ISP_HOP
        of_link = plan.link.down if way == "down" else plan.link.up
        queues = [(hop, "the link", of_link), *([(HOME_HOP, "the home router", home)] if home else [])]
        for place, name, queue in queues:
            if (
                not known
                or getattr(qdiscs.named(queue.queue), "is_fifo", False)
                or not any(each.hop == place for each in plan.hops)
            ):
                continue
            slowest = min(known, key=lambda each: known[each])
            mine = rates[name]
            if mine is None or known[slowest] < mine:
                set_to = "has no shaper" if mine is None else f"is shaped to {Rate(mine)}"
                lines.append(
                    f"{place} {way}: {queue.queue} hardly acts: packets wait elsewhere, as {slowest} has "
                    f"{Rate(known[slowest])} and this queue {set_to}"
                )
    return lines


def _home(plan: Plan, direction: str) -> LinkDirection | None:
    home = plan.link.home
    return None if home is None else home.down if direction == "down" else home.up
