"""Can the marked class be the worst in the ISP's FIFO, and remote BBR worse than a local BK flow?"""

from narrows.studies.local_bottleneck.testbed import classes, homes, recorded

link = homes(["fttc-30-10"])
test = classes()
recorded()
