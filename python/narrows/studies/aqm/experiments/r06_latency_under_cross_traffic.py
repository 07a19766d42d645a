"""Does cross traffic raise latency clearly, to about 7 to 8 ms at 900 Mbit/s, differing by AQM?

Claim R6, Figure 6 of the paper. A queue of 100 packets drains in 1.35 ms at 900 Mbit/s and SFQ's 127 in
1.71 ms, so with these limits only CoDel and FQ-CoDel (target 5 ms) could stand that high at this queue.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test

link = lan(["900 Mbit/s"], ["text"])
test, probe = speed_test()
cross = cross_flow(test, "no", "up", "down")
recorded(10)
