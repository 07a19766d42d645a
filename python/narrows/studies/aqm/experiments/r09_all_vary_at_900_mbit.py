"""Does an upload at 900 Mbit/s vary strongly under every AQM with burst shaping and cross traffic?"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test

link = lan(["900 Mbit/s"], ["text", "listing"])
test, probe = speed_test()
cross = cross_flow(test, "up")
recorded(10)
