"""Do FQ-CoDel and SFQ keep an upload steady at 100 Mbit/s under cross traffic, and pfifo and CoDel not?

Claim R8, Figure 8 of the paper: 100 Mbit/s, burst shaping, one CUBIC cross flow in the same direction.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test

link = lan(["100 Mbit/s"], ["text", "listing"])
test, probe = speed_test()
cross = cross_flow(test, "up")
recorded(10)
