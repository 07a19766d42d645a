"""Are four equal flows served equally by the local queue, and by factors of 3 to 6 apart by the ISP's?

Claim L6 (Grazia et al., Fig. 9 and 10), with 4 and with 64 flows.
"""

from narrows.studies.local_bottleneck.testbed import best_effort, homes, recorded

link = homes(["fttc-30-10"])
test = best_effort([4, 64])
recorded()
