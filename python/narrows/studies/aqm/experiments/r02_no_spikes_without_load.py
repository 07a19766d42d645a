"""Does latency show no spikes without burst shaping and without cross traffic?

Claim R2, Figure 2 of the paper. A spike is an excursion of the probe by 20 ms (a lost probe is none), or a
p99 of the speed test's own RTT far above its median; the paper gives no number.
"""

from narrows.studies.aqm.testbed import lan, recorded, speed_test

link = lan(["100 Mbit/s", "500 Mbit/s", "900 Mbit/s"], ["off"])
test, probe = speed_test()
recorded(10)
