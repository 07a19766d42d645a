"""How do many flows share a bottleneck: one CCA alone, two half and half, one BBR flow against the rest?

The short form of t01 to t08, for a first look: every mix at a chosen size, minutes instead of hours. A run
ends as soon as Jain's index (one CCA) or every CCA's share (two) moved less than 1 % over half of what is
measured at most. Warm-up and duration are too short for a verdict at large base RTTs; the report says how far
each metric still moved.
`make corescale SIZE=core MIX=reno` runs one of them and draws the figures of chapter 3.
"""

from _corescale import Setting

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, pair, repeat, sample, tap, until_settled

BASE_RTT = "20 ms"
SIZES = {
    "edge-10": Setting("100 Mbit/s", "3 MB", 10, "5 s", "30 s", "2 min", "45 s"),
    "edge": Setting("100 Mbit/s", "3 MB", 50, "5 s", "30 s", "2 min", "45 s"),
    "middle": Setting("1 Gbit/s", "37.5 MB", 100, "5 s", "20 s", "80 s", "30 s"),
    "core": Setting("10 Gbit/s", "375 MB", 1000, "5 s", "20 s", "60 s", "20 s"),
    "core-5000": Setting("10 Gbit/s", "375 MB", 5000, "5 s", "20 s", "60 s", "20 s"),
}
MIXES = ("reno", "cubic", "bbr", "cubic+reno", "bbr+reno", "bbr+cubic", "one-bbr+reno", "one-bbr+cubic")


def each(field):
    """A field of every size: one axis, wherever it stands."""
    return axis("size", {name: getattr(one, field) for name, one in SIZES.items()})


def some(cca, mix):
    """The flows of a CCA in a mix: all, half, one, all but one; None where it has none."""
    if cca not in mix:
        return None
    if mix.startswith("one-"):
        counts = {name: 1 if cca == "bbr" else one.flows - 1 for name, one in SIZES.items()}
    else:
        counts = {name: one.flows // len(mix.split("+")) for name, one in SIZES.items()}
    return bulk(cca=cca, flows=axis("size", counts), start_spread=each("spread"), duration=each("duration"))


link = Dumbbell(
    rate=each("rate"),
    queue=axis("size", {name: bfifo(limit=one.buffer) for name, one in SIZES.items()}),
    pairs=[pair(BASE_RTT)],
)
reno = axis("mix", {mix: some("reno", mix) for mix in MIXES})
cubic = axis("mix", {mix: some("cubic", mix) for mix in MIXES})
bbr = axis("mix", {mix: some("bbr", mix) for mix in MIXES})
tap("drops", interval="100 ms")
flow_tap(warm_up=each("warm_up"), interval="1 s")
sample(tcp_info=None, qdisc=None, link=None)
settles = axis("mix", {mix: "shares" if "+" in mix else "jain" for mix in MIXES})
until_settled(settles, window=each("window"))
repeat(10)
