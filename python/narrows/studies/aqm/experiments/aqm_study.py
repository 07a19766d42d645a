"""How do the AQM, the rate, burst shaping and cross traffic change what a speed test reports?

The whole grid of Ray et al., "Characterizing the Impact of Active Queue Management on Speed Test
Measurements" (arXiv 2511.19213), Figures 1 to 6: ten rates × four qdiscs × with and without burst shaping ×
with and without cross traffic × ten seeds = 1600 runs. Each run is an NDT7 download, then an upload, 10 s
each.

Burst shaping is that of the paper's text: ceil 1.6 × rate, burst 15 KB, cburst 30 KB. Its listing computes
other bursts; that variant is aqm_study_listing.py.

The cross flow is one CUBIC flow without a target rate, from our own sender instead of iperf3's: the same
traffic (cross_flow.py) at a fraction of the cost. The paper does not say which way it goes; its client starts
it, and iperf3's client sends, so "up" is the study's choice and "down" is tested beside it.
"""

from narrows.studies.aqm.testbed import RATES, cross_flow, lan, recorded, speed_test, third_party

link = lan(RATES, ["off", "text"])
test = speed_test()
probe = third_party(test)
cross = cross_flow(test, "no", "up")
recorded(10)
