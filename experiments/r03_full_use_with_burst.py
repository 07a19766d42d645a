"""Does burst shaping bring throughput close to the configured rate for every AQM?

Claim R3, Figure 3 of the paper. "ceil_only" and "burst_only" take the paper's setting apart: a class
without a parent has nobody to borrow from, so ceil above the rate should do nothing, and all of the effect
should be the burst, which keeps the tokens that a late timer would lose. So timers are exact and late here.
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

MIN_UTILISATION = 0.95  # of the payload rate that the shaper allows, median of each condition

RATES = axis("rate", ["800 Mbit/s"])
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
            "ceil_only": htb(ceil_factor=1.6),
            "burst_only": htb(burst="15 KB", cburst="30 KB"),
        },
    ),
    base_rtt=BASE_RTT,
    line_rate=LINE_RATE,
)
test = ndt7(start=TEST_START)
probe = udp_probe(interval="10 ms", stop=with_(test))
machine(timer_latency=axis("timer_latency", {"off": None, "10-30us": ("10 us", "30 us")}))
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
