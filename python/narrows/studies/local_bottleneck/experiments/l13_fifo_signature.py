"""Are equal RTTs with unequal rates the mark of a FIFO?

Claim L13 (Grazia et al., Fig. 11 against Fig. 10). Four uploads, each an item of its own, so that the tap
tells the RTT of each.
"""

from narrows.spec import axis, bulk
from narrows.studies.local_bottleneck.testbed import CCAS, homes, recorded

link = homes(["fttc-30-10"])
cca = axis("cca", list(CCAS))
upload = [bulk(direction="up", cca=cca, start="5 s", stop="25 s") for _ in range(4)]
recorded()
