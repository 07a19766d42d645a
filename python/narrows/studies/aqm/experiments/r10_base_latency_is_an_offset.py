"""Does added base latency only shift latency, and leave throughput and latency under load alone?

Claim R10, section 3 of the paper, which added delay by netem on the server and found only a constant
offset. Here the delay is on the path beyond the router, because netem on a sending host changes TCP.
"""

from narrows.studies.aqm.testbed import cross_flow, lan, recorded, speed_test

link = lan(["100 Mbit/s"], ["text"], ["500 us", "10500 us", "40500 us"])
test, probe = speed_test()
cross = cross_flow(test, "no", "up")
recorded(3)
