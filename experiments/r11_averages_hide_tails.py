"""Are there conditions with nearly the same mean that differ in tails, spikes and glitches?

Claim R11, the paper's argument in sections 1, 4.2 and 5.
"""

from _ray import cross_flow, lan, recorded, speed_test, third_party

SAME_MEAN = 0.05  # means of throughput within 5 % of each other
DIFFERENT_TAIL = 2  # p99 of the probe's RTT, or the variation of throughput, differs by this factor

link = lan(["100 Mbit/s", "900 Mbit/s"], ["off", "text"])
test = speed_test()
probe = third_party(test)
cross = cross_flow(test, "no", "up")
recorded(5)
