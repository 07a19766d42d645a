"""How do the AQM, the rate, burst shaping and cross traffic change what a speed test reports?

The whole grid of Ray et al., "Characterizing the Impact of Active Queue Management on Speed Test
Measurements" (arXiv 2511.19213), Figures 1 to 6: ten rates × four qdiscs × with and without burst shaping ×
with and without cross traffic × ten seeds = 1600 runs. Each run is an NDT7 download, then an upload, 10 s
each.

Burst shaping is that of the paper's text: ceil 1.6 × rate, burst 15 KB, cburst 30 KB. Its listing computes
other bursts; that variant is aqm_study_listing.py.
"""

from narrows.studies.aqm.testbed import RATES, cross_flow, lan, recorded, speed_test

link = lan(RATES, ["off", "text"])
test, probe = speed_test()
cross = cross_flow(test, "no", "up")
recorded(10)
