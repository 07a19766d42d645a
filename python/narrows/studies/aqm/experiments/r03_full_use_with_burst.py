"""Does burst shaping bring throughput close to the configured rate for every AQM?

Claim R3, Figure 3 of the paper. "ceil_only" and "burst_only" take the paper's setting apart: a class
without a parent has nobody to borrow from, so ceil above the rate should do nothing, and all of the effect
should be the burst, which keeps the tokens that a late timer would lose. So timers are exact and late here.
"""

from narrows.spec import axis, machine
from narrows.studies.aqm.testbed import lan, recorded, speed_test

link = lan(["800 Mbit/s"], ["text", "listing", "ceil_only", "burst_only"])
test, probe = speed_test()
machine(timer_latency=axis("timer_latency", {"off": None, "10-30us": ("10 us", "30 us")}))
recorded(5)
