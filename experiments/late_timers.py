"""Do timers that are 10 to 30 µs late change how many flows share a bottleneck?

A PC's timers are that late. At 10 Gbit/s the bottleneck then sends about twenty packets at once instead of
one, which costs less wall time, but is it the same experiment? The same flows, starts and seeds meet both.
"""

from typing import Any

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, htb, machine, pair, repeat, sample, tap


def at(slow: Any, fast: Any) -> Any:
    """A value at each rate: one axis, wherever it stands."""
    return axis("rate", {"1Gbit": slow, "10Gbit": fast})


# HTB's bucket holds what the rate sends meanwhile: 30 µs at 10 Gbit/s are 37.5 KB.
TIMERS = {"exact": (None, htb()), "10-30us": (("10 us", "30 us"), htb(burst="64 KB", cburst="64 KB"))}


def of(place: int) -> Any:
    """The timers' lateness (0), or the shaper that goes with it (1)."""
    return axis("timers", {name: both[place] for name, both in TIMERS.items()})


link = Dumbbell(
    rate=at("1 Gbit/s", "10 Gbit/s"),
    queue=at(bfifo(limit="37.5 MB"), bfifo(limit="375 MB")),
    shaper=of(1),
    pairs=[pair("20 ms")],
)
flows = bulk(
    cca=axis("cca", ["reno", "cubic", "bbr"]),
    flows=at(100, 1000),
    start_spread=at("5 s", "2 s"),
    duration=at("60 s", "30 s"),
)
machine(timer_latency=of(0))
tap("drops", interval="100 ms")
flow_tap(warm_up=at("20 s", "10 s"), interval="1 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(5)
