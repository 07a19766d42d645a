"""Does ICMP follow CUBIC's curve above 100 ms in the ISP's FIFO, and stay at its minimum with a local one?"""

from narrows.studies.local_bottleneck.testbed import bulk_test, homes, recorded

link = homes(["fttc-30-10"])
load, ping = bulk_test("down", ["cubic"])
recorded()
