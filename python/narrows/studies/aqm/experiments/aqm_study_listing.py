"""How do the study's results change with the burst that the paper's listing computes?

The grid of aqm_study.py with burst and cburst of rate_kbit × 36 / 1000 kB, as in listing 6 of the paper (tc
reads the "k" as 1024 bytes): 295 ms of traffic at any rate, 3.7 MB at 100 Mbit/s and 37 MB at 1 Gbit/s. 800
runs.
"""

from narrows.studies.aqm.testbed import RATES, cross_flow, lan, recorded, speed_test

link = lan(RATES, ["listing"])
test, probe = speed_test()
cross = cross_flow(test, "no", "up")
recorded(10)
