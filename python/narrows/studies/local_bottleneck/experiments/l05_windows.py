"""Does CUBIC's window grow without bound in the ISP's FIFO, and BBR's drain ten seconds after its start?

Claim L5 (Grazia et al., Fig. 8a).
"""

from narrows.studies.local_bottleneck.testbed import bulk_test, homes, recorded

link = homes(["fttc-30-10"])
load, ping = bulk_test("up")
recorded()
