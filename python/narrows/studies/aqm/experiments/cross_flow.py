"""Is our own CUBIC flow the same cross traffic as iperf3's?

The paper's cross traffic is iperf3. With CPU time free, iperf3 wakes for every packet and a run costs
several times more, so the study uses `bulk`. Both hand the same kernel's TCP as much as it takes. This
experiment holds one against the other: what the speed test reads, and what the cross flow gets, must agree
within the spread of the repetitions.
"""

from narrows.spec import Link, axis, codel, fq_codel, iperf3, pfifo, with_
from narrows.studies.aqm.testbed import BASE_RTT, CROSS_START, LINE_RATE, bursts, flow, recorded, speed_test

link = Link(
    rate=axis("rate", ["100 Mbit/s", "900 Mbit/s"]),
    queue=axis("queue", {"pfifo": pfifo(limit=100), "codel": codel(), "fq_codel": fq_codel()}),
    shaper=bursts()["text"],
    base_rtt=BASE_RTT,
    line_rate=LINE_RATE,
)
test, probe = speed_test()
_theirs = iperf3(direction="up", cca="cubic", start=CROSS_START, stop=with_(test))
cross = axis("cross", {"iperf3": _theirs, "bulk": flow(test)})
recorded(5)
