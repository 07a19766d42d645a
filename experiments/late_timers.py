"""Do timers that are 10 to 30 µs late change how many flows share a bottleneck?

A PC's timers are that late (claim R1). At 10 Gbit/s the bottleneck then sends about twenty packets at once
instead of one, which costs less wall time, but is it the same experiment? The same flows, starts and seeds
meet both; docs/corescale.md has the answer.
"""

from _corescale import Setting

from narrows.spec import (
    Dumbbell,
    axis,
    bfifo,
    bulk,
    flow_tap,
    htb,
    machine,
    pair,
    repeat,
    sample,
    tap,
)

SIZES = {
    "middle": Setting("1 Gbit/s", "37.5 MB", 100, "5 s", "20 s", "60 s"),
    "core": Setting("10 Gbit/s", "375 MB", 1000, "2 s", "10 s", "30 s"),
}
# HTB's bucket holds what the rate sends meanwhile: 30 µs at 10 Gbit/s are 37.5 KB.
TIMERS = {
    "exact": (None, htb()),
    "10-30us": (("10 us", "30 us"), htb(burst="64 KB", cburst="64 KB")),
}


def each(field):
    return axis("size", {name: getattr(one, field) for name, one in SIZES.items()})


def of(place):
    return axis("timers", {name: both[place] for name, both in TIMERS.items()})


link = Dumbbell(
    rate=each("rate"),
    queue=axis("size", {name: bfifo(limit=one.buffer) for name, one in SIZES.items()}),
    shaper=of(1),
    pairs=[pair("20 ms")],
)
flows = bulk(
    cca=axis("cca", ["reno", "cubic", "bbr"]),
    flows=each("flows"),
    start_spread=each("spread"),
    duration=each("duration"),
)
machine(timer_latency=of(0))
tap("drops", interval="100 ms")
flow_tap(warm_up=each("warm_up"), interval="1 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(5)
