"""Does an upload's TCP RTT halve with BBR and fall by nearly an order of magnitude with CUBIC?

And does CUBIC's window grow without bound in the ISP's FIFO, and BBR's drain 10 s after its start (L5)?
"""

from narrows.studies.local_bottleneck.testbed import bulk_test, homes, recorded

link = homes(["fttc-30-10"])
load, ping = bulk_test("up")
recorded()
