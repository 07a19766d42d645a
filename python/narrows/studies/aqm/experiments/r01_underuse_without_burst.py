"""Is the link under-used at high rates without burst shaping, whatever the AQM?

Claim R1, Figure 1 of the paper: at 800 Mbit/s the maximum stays under 700 Mbit/s.

In virtual time a timer fires exactly when it is due, and computing takes no time. The paper's software
router has neither, so its timer latency is an axis here: HTB's bucket of about one packet (1600 B) is full
again after 16 µs at 800 Mbit/s, and tokens that come while a timer is later than that are lost.
"""

from narrows.spec import axis, machine
from narrows.studies.aqm.testbed import lan, recorded, speed_test

link = lan(["200 Mbit/s", "800 Mbit/s"], ["off"])
test, probe = speed_test()
machine(
    timer_latency=axis(
        "timer_latency", {"off": None, "0-6us": ("0 us", "6 us"), "10-30us": ("10 us", "30 us")}
    )
)
recorded(10)
