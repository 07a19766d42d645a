"""Does cross traffic make the speed test's throughput lower and far more variable?

Claim R5, Figure 5 of the paper: for FQ-CoDel at 900 Mbit/s the standard deviation over repetitions is 138
Mbit/s with burst shaping and cross traffic, 1.51 Mbit/s without both.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test

link = lan(["900 Mbit/s"], ["off", "text"])
test, probe = speed_test()
cross = cross_flow(test, "no", "up", "down")
recorded(10)
