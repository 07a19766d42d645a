"""Do the drops of the ISP's FIFO come at the peaks of the delay?"""

from narrows.spec import home_router
from narrows.studies.local_bottleneck.testbed import bulk_test, homes, recorded

link = homes(["fttc-30-10"], {"remote": home_router()})
load, ping = bulk_test("down", ["cubic"])
recorded()
