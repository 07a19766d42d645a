"""Does cross traffic make the speed test's throughput lower and far more variable?

Claim R5, Figure 5 of the paper: for FQ-CoDel at 900 Mbit/s the standard deviation over repetitions is 138
Mbit/s with burst shaping and cross traffic, 1.51 Mbit/s without both.

The cross flow is one CUBIC flow without a target rate, from our own sender instead of iperf3's: the same
traffic (cross_flow.py) at a fraction of the cost. The paper does not say which way it goes; its client starts
it, and iperf3's client sends, so "up" is the study's choice and "down" is tested beside it.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test, third_party

link = lan(["900 Mbit/s"], ["off", "text"])
test = speed_test()
probe = third_party(test)
cross = cross_flow(test, "no", "up", "down")
recorded(10)
