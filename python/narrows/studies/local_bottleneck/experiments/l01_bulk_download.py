"""Does a little throughput buy a large cut in a download's latency, more with CUBIC than with BBR?

Claim L1 (Grazia et al., Fig. 5a and 5c), on FTTC and on fixed wireless.
"""

from narrows.studies.local_bottleneck.testbed import bulk_test, homes, recorded

link = homes(["fttc-30-10", "fwa-30-3"])
load, ping = bulk_test("down")
recorded()
