"""How do many flows share a bottleneck: one CCA alone, two half and half, one BBR flow against the rest?

The short form of t01 to t08, for a first look: every mix at a chosen size, minutes instead of hours. A run
ends as soon as Jain's index (one CCA) or every CCA's share (two) moved less than 1 % over half of what is
measured at most. Warm-up and duration are too short for a verdict at large base RTTs; the report says how far
each metric still moved.
`make corescale SIZE=core MIX=reno` runs one of them and draws the figures of chapter 3.
"""

from narrows.spec import Dumbbell, axis, bfifo, pair, until_settled
from narrows.studies.corescale.testbed import MIXES, Setting, counted, each, in_mixes

BASE_RTT = "20 ms"
SIZES = {
    "edge-10": Setting("100 Mbit/s", "3 MB", 10, "5 s", "30 s", "2 min", "45 s"),
    "edge": Setting("100 Mbit/s", "3 MB", 50, "5 s", "30 s", "2 min", "45 s"),
    "middle": Setting("1 Gbit/s", "37.5 MB", 100, "5 s", "20 s", "80 s", "30 s"),
    "core": Setting("10 Gbit/s", "375 MB", 1000, "5 s", "20 s", "60 s", "20 s"),
    "core-5000": Setting("10 Gbit/s", "375 MB", 5000, "5 s", "20 s", "60 s", "20 s"),
}

link = Dumbbell(
    rate=each("rate", SIZES, "size"),
    queue=axis("size", {name: bfifo(limit=one.buffer) for name, one in SIZES.items()}),
    pairs=[pair(BASE_RTT)],
)
reno, cubic, bbr = in_mixes(MIXES, SIZES)
counted(each("warm_up", SIZES, "size"), 10, "1 s")
settles = axis("mix", {mix: "shares" if "+" in mix else "jain" for mix in MIXES})
until_settled(settles, window=each("window", SIZES, "size"))
