"""What do CAKE, PIE, FQ-PIE and DualPI2 do to a speed test: alone, beside a flow, and amid mixed traffic?

Claim R12 (open in Ray et al.). The conditions of r02 to r08 at 100 Mbit/s: with and without burst shaping,
with and without one CUBIC flow beside the test; and at another base RTT, as r10. CAKE stands under the same
HTB as the others. Mixed traffic is what a home has at once: the classic flow, a low-latency flow (DCTCP as
ECT(1)), a background flow (CS1) and a sparse EF stream.
"""

from narrows.spec import Link, axis, cake, dualpi2, fq_pie, pie, udp_probe, with_
from narrows.studies.aqm.testbed import BASE_RTT, LINE_RATE, bursts, flow, recorded, speed_test

link = Link(
    rate="100 Mbit/s",
    queue=axis(
        "queue", {"pie": pie(), "fq_pie": fq_pie(), "cake": cake(diffserv="diffserv4"), "dualpi2": dualpi2()}
    ),
    shaper=axis("burst", {name: bursts()[name] for name in ("off", "text")}),
    base_rtt=axis("base_rtt", {"500us": BASE_RTT, "20ms": "20 ms"}),
    line_rate=LINE_RATE,
)
test, probe = speed_test()


def cross_of(mixed: object, up: object = None) -> object:
    return axis("cross", {"no": None, "up": up, "mixed": mixed})


cross = cross_of(flow(test), up=flow(test))
low_latency = cross_of(flow(test, cca="dctcp", l4s=True))
background = cross_of(flow(test, dscp="CS1"))
voice = cross_of(udp_probe(interval="20 ms", dscp="EF", payload="172 B", stop=with_(test)))
recorded(6)
