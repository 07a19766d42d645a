"""Are there conditions with nearly the same mean that differ in tails, spikes and glitches?

Claim R11, the paper's argument in sections 1, 4.2 and 5.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test

link = lan(["100 Mbit/s", "900 Mbit/s"], ["off", "text"])
test, probe = speed_test()
cross = cross_flow(test, "no", "up")
recorded(5)
