"""Do FQ-CoDel and SFQ keep an upload steady at 100 Mbit/s under cross traffic, and pfifo and CoDel not?

Claim R8, Figure 8 of the paper: 100 Mbit/s, burst shaping, one CUBIC cross flow in the same direction.
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

STABLE_VARIATION = 0.10  # of the test's own 10 ms bins at the bottleneck, median over repetitions
SETTLING_S = 1
STABLE_QUEUES = ("fq_codel", "sfq")
UNSTABLE_QUEUES = ("pfifo", "codel")

RATES = axis("rate", ["100 Mbit/s"])
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
            "listing": htb(
                ceil_factor=1.6, burst_per_rate="294.912 ms"
            ),  # rate_kbit × 36/1000 "k" of tc, 1024 bytes each
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
        "up": bulk(direction="up", cca="cubic", start=CROSS_START, stop=with_(test)),
    },
)
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
