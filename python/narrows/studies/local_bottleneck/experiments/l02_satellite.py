"""Is BBR faster than CUBIC over a satellite, and does CUBIC fill a local bottleneck there?

Claim L2 (Grazia et al., Fig. 5b). The paper's satellite is not said to be geostationary: both orbits are run.
"""

from narrows.studies.local_bottleneck.testbed import bulk_test, homes, recorded

link = homes(["geo", "leo"])
load, ping = bulk_test("down")
recorded()
