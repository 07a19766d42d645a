"""Does latency stay stable with burst shaping when there is no cross traffic?

Claim R4, Figure 4 of the paper. Stable: no excursion of the probe by 20 ms, and p99 of the speed test's own
RTT near its median.
"""

from narrows.spec import (
    Link,
    axis,
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

MAX_SPIKES_PER_MINUTE = 0
MAX_TAIL_MS = 5  # p99 - median of the test's RTT

RATES = axis("rate", ["100 Mbit/s", "500 Mbit/s", "900 Mbit/s"])
REPETITIONS = 5
BASE_RTT = "500 us"  # a small LAN; the paper added no delay
LINE_RATE = "1 Gbit/s"  # every port of the testbed
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
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
