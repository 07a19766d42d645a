"""The ISP's links of `make shapers`: rates that move, media below IP, and traces of opportunities.

Of each link the truth is known: the rate itself, or what the medium's schedule carries, told as the mean of
each 100 ms and counted as CAKE counts packets. The causal oracle hears of a rate one round trip later; of a
medium a round trip and such a mean's 100 ms. Of Wi-Fi, whose turns come by demand and whose air the
acknowledgements share, the truth is the mean that it was seen to carry with no queue at home.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from narrows.headers import ETHERNET_HEADER_BYTES
from narrows.plan.build import plan_file
from narrows.plan.model import CapacityStep, Plan
from narrows.plan.moving import BIN_NS
from narrows.spec import leo, lte_drive, sine, square, trace
from narrows.spec.moving_rate import MovingRate
from narrows.units import NS_PER_MS

RTT_MS = 30
UP = 'rate_up="20 Mbit/s"'

RATES = {
    "square": ('square("10 Mbit/s", "80 Mbit/s", "20 s")', square("10 Mbit/s", "80 Mbit/s", "20 s")),
    "sine": ('sine("40 Mbit/s", "30 Mbit/s", "20 s")', sine("40 Mbit/s", "30 Mbit/s", "20 s")),
    "lte": ('lte_drive("12 Mbit/s", seed=1)', lte_drive("12 Mbit/s", seed=1)),
    "5g": ('lte_drive("60 Mbit/s", seed=3)', lte_drive("60 Mbit/s", seed=3)),
    "leo": ('leo("100 Mbit/s", seed=1)', leo("100 Mbit/s", seed=1)),
}
MEDIA = {
    "wifi": 'wifi(rate="60 Mbit/s", stations=1, failure="5 %")',
    "lte": 'lte(rate=lte_drive("20 Mbit/s", seed=5), rate_up="10 Mbit/s", handover="20 s")',
    "nr": 'nr(rate=lte_drive("40 Mbit/s", seed=6), rate_up="10 Mbit/s")',
    "satellite": 'satellite(rate=leo("50 Mbit/s", seed=2), rate_up="10 Mbit/s")',
}

TRUTH = '''"""What does this link carry?"""

from narrows.spec import *

link = Home({link}, base_rtt="{rtt} ms")
call = udp_probe(stop="{length} s")
'''


@dataclass(frozen=True)
class IspLink:
    """One link of the ISP."""

    options: str
    """Of the Home, as the experiment says them."""
    rate: str
    """What it carries, as the experiment says it."""
    truth: MovingRate
    lag_ms: int = RTT_MS
    """How late the causal oracle hears of it."""


def of_rate(text: str, rate: MovingRate) -> IspLink:
    """A link with a rate that moves."""
    return IspLink(f"rate=rate, {UP}", text, rate)


def of_medium(name: str, options: str, folder: Path, length: int) -> IspLink:
    """A link with a medium, and what its schedule carries."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"truth_{name}.py"
    file.write_text(TRUTH.format(link=options, rtt=RTT_MS, length=length))
    return _known(name, options, folder, as_cake_counts(plan_file(file).plans[0]))


def as_measured(name: str, options: str, folder: Path, bps: float) -> IspLink:
    """A link with a medium of which only what it carried is known."""
    return _known(name, options, folder, [(0, int(bps))])


def is_by_demand(folder: Path, name: str) -> bool:
    """Whether a medium's turns come as packets do, so that its schedule alone says too much."""
    plan = plan_file(folder / f"truth_{name}.py").plans[0]
    return any(medium.by_demand for medium in plan.media if medium.direction == "down")


def as_cake_counts(plan: Plan) -> list[tuple[int, int]]:
    """What the medium down carries over time, in bit/s of frames: CAKE counts the Ethernet header, and the
    medium what it adds to an IP packet."""
    (medium,) = (medium for medium in plan.media if medium.direction == "down")
    mtu = plan.link.mtu_bytes
    frame, counted = mtu + ETHERNET_HEADER_BYTES, mtu + medium.overhead_bytes
    steps: tuple[CapacityStep, ...] = plan.moving.down if plan.moving is not None else ()
    return [(step.at_ns, step.rate_bps * frame // counted) for step in steps]


def _known(name: str, options: str, folder: Path, steps: list[tuple[int, int]]) -> IspLink:
    file = (folder / f"truth_{name}.csv").resolve()
    file.write_text("t_ns,rate_bps\n" + "".join(f"{at},{bps}\n" for at, bps in steps))
    lag_ms = RTT_MS + BIN_NS // NS_PER_MS
    return IspLink(options, f"trace({str(file)!r})", trace(str(file)), lag_ms)
