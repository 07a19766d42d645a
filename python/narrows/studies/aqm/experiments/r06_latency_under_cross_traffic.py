"""Does cross traffic raise latency clearly, to about 7 to 8 ms at 900 Mbit/s, differing by AQM?

Claim R6, Figure 6 of the paper. A queue of 100 packets drains in 1.35 ms at 900 Mbit/s and SFQ's 127 in
1.71 ms, so with these limits only CoDel and FQ-CoDel (target 5 ms) could stand that high at this queue.

The cross flow is one CUBIC flow without a target rate, from our own sender instead of iperf3's: the same
traffic (cross_flow.py) at a fraction of the cost. The paper does not say which way it goes; its client starts
it, and iperf3's client sends, so "up" is the study's choice and "down" is tested beside it.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test, third_party

link = lan(["900 Mbit/s"], ["text"])
test = speed_test()
probe = third_party(test)
cross = cross_flow(test, "no", "up", "down")
recorded(10)
