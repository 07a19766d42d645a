"""Can the marked class be the worst in the ISP's FIFO, and remote BBR worse than the local background flow?

Claim L18 (Grazia et al., Fig. 13a and 13c).
"""

from narrows.studies.local_bottleneck.testbed import classes, homes, recorded

link = homes(["fttc-30-10"])
test = classes()
recorded()
