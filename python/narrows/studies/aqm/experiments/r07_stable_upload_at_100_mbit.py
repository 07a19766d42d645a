"""Is instantaneous upload throughput at 100 Mbit/s stable under every AQM without load?

Claim R7, Figure 7 of the paper. Stable is a coefficient of variation of the test's own 10 ms bins at the
bottleneck; the paper gives no number and does not state its bins.
"""

from narrows.studies.aqm.testbed import lan, recorded, speed_test

link = lan(["100 Mbit/s"], ["off"])
test, probe = speed_test()
recorded(10)
