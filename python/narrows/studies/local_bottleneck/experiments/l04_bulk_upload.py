"""Does an upload's TCP RTT halve with BBR and fall by nearly an order of magnitude with CUBIC?

Claim L4 (Grazia et al., Fig. 7b).
"""

from narrows.studies.local_bottleneck.testbed import bulk_test, homes, recorded

link = homes(["fttc-30-10"])
load, ping = bulk_test("up")
recorded()
