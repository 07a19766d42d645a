"""Does cross traffic make the speed test's throughput lower and far more variable?

Claim R5, Figure 5 of the paper: for FQ-CoDel at 900 Mbit/s the standard deviation over repetitions is 138
Mbit/s with burst shaping and cross traffic, 1.51 Mbit/s without both.

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
MAX_SHARE_OF_UNLOADED = 0.8  # throughput drops: median under cross traffic over median without
MIN_STD_RATIO = 10  # varies far more: the paper's is 138 / 1.51 = 91

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
            "off": htb(),  # rate and tc's own burst of about one packet
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
