"""Does cross traffic raise latency clearly, to about 7 to 8 ms at 900 Mbit/s, differing by AQM?

Claim R6, Figure 6 of the paper. A queue of 100 packets drains in 1.35 ms at 900 Mbit/s and SFQ's 127 in
1.71 ms, so with these limits only CoDel and FQ-CoDel (target 5 ms) could stand that high at this queue.

The cross flow is one CUBIC flow without a target rate, from our own sender instead of iperf3's: the same
traffic (cross_flow.py) at a fraction of the cost. The paper does not say which way it goes; its client starts
it, and iperf3's client sends, so "up" is the study's choice and "down" is tested beside it.
"""

from narrows.spec import (
    Link,
    axis,
    bulk,
    codel,
    fq_codel,
    htb,
    ndt7,
    pfifo,
    repeat,
    sample,
    sfq,
    tap,
    udp_probe,
    with_,
)

RATE_MBPS = 900
MIN_RISE_MS = 1  # clearly: median RTT of the test with cross traffic minus without
PAPER_LOW_MS = 6
PAPER_HIGH_MS = 9  # "about 7 to 8 ms"
MIN_SPREAD_BETWEEN_QUEUES = 1.5  # differing by AQM: highest over lowest median

RATES = axis("rate", ["900 Mbit/s"])
REPETITIONS = 10
BASE_RTT = "500 us"  # a small LAN; the paper added no delay
LINE_RATE = "1 Gbit/s"  # every port of the testbed
CROSS_START = "2 s"  # 5 s before the speed test; before it the path is idle
TEST_START = "7 s"

link = Link(
    rate=RATES,
    queue=axis("queue", {"pfifo": pfifo(limit=100), "codel": codel(), "fq_codel": fq_codel(), "sfq": sfq()}),
    shaper=axis(
        "burst",
        {
            "text": htb(ceil_factor=1.6, burst="15 KB", cburst="30 KB"),
        },
    ),
    base_rtt=BASE_RTT,
    line_rate=LINE_RATE,
)
test = ndt7(start=TEST_START)
probe = udp_probe(interval="10 ms", stop=with_(test))
cross = axis(
    "cross",
    {
        "no": None,
        "up": bulk(direction="up", cca="cubic", start=CROSS_START, stop=with_(test)),
        "down": bulk(direction="down", cca="cubic", start=CROSS_START, stop=with_(test)),
    },
)
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
