"""Does latency stay stable with burst shaping when there is no cross traffic?

Claim R4, Figure 4 of the paper. Stable: no excursion of the probe by 20 ms, and p99 of the speed test's own
RTT near its median.
"""

from narrows.studies.aqm.testbed import lan, recorded, speed_test

link = lan(["100 Mbit/s", "500 Mbit/s", "900 Mbit/s"], ["text", "listing"])
test, probe = speed_test()
recorded(5)
