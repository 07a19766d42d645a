"""Does an upload at 900 Mbit/s vary strongly under every AQM with burst shaping and cross traffic?

Claim R9, Figure 9 of the paper.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test, third_party

link = lan(["900 Mbit/s"], ["text", "listing"])
test = speed_test()
probe = third_party(test)
cross = cross_flow(test, "up")
recorded(10)
