"""Does latency show no spikes without burst shaping and without cross traffic?

Claim R2, Figure 2 of the paper. A spike is an excursion of the probe by 20 ms (a lost probe is none), or a
p99 of the speed test's own RTT far above its median; the paper gives no number.
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
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
