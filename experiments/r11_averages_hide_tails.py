"""Are there conditions with nearly the same mean that differ in tails, spikes and glitches?

Claim R11, the paper's argument in sections 1, 4.2 and 5.
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

SAME_MEAN = 0.05  # means of throughput within 5 % of each other
DIFFERENT_TAIL = 2  # p99 of the probe's RTT, or the variation of throughput, differs by this factor

RATES = axis("rate", ["100 Mbit/s", "900 Mbit/s"])
REPETITIONS = 5
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
    },
)
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
