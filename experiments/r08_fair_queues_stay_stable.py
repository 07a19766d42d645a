"""Do FQ-CoDel and SFQ keep an upload steady at 100 Mbit/s under cross traffic, and pfifo and CoDel not?

Claim R8, Figure 8 of the paper: 100 Mbit/s, burst shaping, one CUBIC cross flow in the same direction.
"""

from _ray import cross_flow, lan, recorded, speed_test, third_party

STABLE_VARIATION = 0.10  # of the test's own 10 ms bins at the bottleneck, median over repetitions
SETTLING_S = 1
STABLE_QUEUES = ("fq_codel", "sfq")
UNSTABLE_QUEUES = ("pfifo", "codel")

link = lan(["100 Mbit/s"], ["text", "listing"])
test = speed_test()
probe = third_party(test)
cross = cross_flow(test, "up")
recorded(10)
