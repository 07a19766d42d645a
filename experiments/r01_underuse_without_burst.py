"""Is the link under-used at high rates without burst shaping, whatever the AQM?

Claim R1, Figure 1 of the paper: at 800 Mbit/s the maximum stays under 700 Mbit/s.

In virtual time a timer fires exactly when it is due, and computing takes no time. The paper's software
router has neither, so its timer latency is an axis here: HTB's bucket of about one packet (1600 B) is full
again after 16 µs at 800 Mbit/s, and tokens that come while a timer is later than that are lost.
"""

from narrows.spec import (
    Link,
    axis,
    codel,
    fq_codel,
    htb,
    machine,
    ndt7,
    pfifo,
    repeat,
    sample,
    sfq,
    tap,
    udp_probe,
    with_,
)

HIGH_RATE_MBPS = 800
MAX_MBPS = 700  # the claim: no run above it

RATES = axis("rate", ["200 Mbit/s", "800 Mbit/s"])
REPETITIONS = 10
BASE_RTT = "500 us"  # a small LAN; the paper added no delay
LINE_RATE = "1 Gbit/s"  # every port of the testbed
TEST_START = "7 s"

link = Link(
    rate=RATES,
    queue=axis("queue", {"pfifo": pfifo(limit=100), "codel": codel(), "fq_codel": fq_codel(), "sfq": sfq()}),
    shaper=axis(
        "burst",
        {
            "off": htb(),  # rate and tc's own burst of about one packet
        },
    ),
    base_rtt=BASE_RTT,
    line_rate=LINE_RATE,
)
test = ndt7(start=TEST_START)
probe = udp_probe(interval="10 ms", stop=with_(test))
machine(
    timer_latency=axis(
        "timer_latency", {"off": None, "0-6us": ("0 us", "6 us"), "10-30us": ("10 us", "30 us")}
    )
)
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
