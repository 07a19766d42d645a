"""Does an AQM mend what drop-tail does to fairness, and what becomes of losses per halving and of C?

The thesis behind CoreScale has a drop-tail queue of 240 ms only. Here the same link (100 Mbit/s, 10 and 50
flows of 20 ms, no ECN) has each of Linux' AQMs, with its mixes of CCAs: one alone, two half and half, one BBR
flow against the rest. Queues keep Linux' defaults, RED is set to the delay that PIE aims at. With a short
queue each window is small: 50 flows share 20 ms and the AQM's delay, which is four to six packets each, so
that losses become timeouts. Such windows grow back in less than a second, so three minutes hold hundreds of
halvings of each flow. Drop-tail on the same link, for which that is too short: t04 to t08.
"""

from narrows.spec import Dumbbell, axis, cake, choke, codel, dualpi2, fq_codel, fq_pie, pair, pie, red
from narrows.studies.corescale.testbed import MIXES, Setting, counted, each, in_mixes

SIZES = {
    "edge-10": Setting("100 Mbit/s", "3 MB", 10, "10 s", "1 min", "4 min"),
    "edge-50": Setting("100 Mbit/s", "3 MB", 50, "10 s", "1 min", "4 min"),
}
QUEUES = {
    # 15 ms at 100 Mbit/s are 187 KB: between the two marks
    "red": red(limit="3 MB", min="94 KB", max="282 KB", probability="10 %"),
    "choke": choke(limit=1000, min=62, max=186, burst=100, probability="10 %"),
    "codel": codel(),
    "pie": pie(),
    "fq_codel": fq_codel(ecn=False),
    "fq_pie": fq_pie(),
    "cake": cake(),
    "dualpi2": dualpi2(),
}

link = Dumbbell(rate="100 Mbit/s", queue=axis("queue", QUEUES), pairs=[pair("20 ms")])
reno, cubic, bbr = in_mixes(MIXES, SIZES)
counted(each("warm_up", SIZES, "size"), 10, "1 s")
