"""Does CAKE give CS5 and EF more rate and less delay than best effort, and the background class less?

Claim L8 (Grazia et al., Fig. 12 and 13), with CAKE's default (diffserv3) and with diffserv4. CAKE's own table
puts CS5 into best effort with diffserv3 and into Voice with diffserv4. The verdict is of the fixed line;
wireless and satellite are for Fig. 15.
"""

from narrows.studies.local_bottleneck.testbed import LOCAL_DIFFSERV4, ROUTERS, classes, homes, recorded

link = homes(["fttc-30-10", "fwa-30-3", "geo"], {**ROUTERS, "diffserv4": LOCAL_DIFFSERV4})
test = classes()
recorded()
