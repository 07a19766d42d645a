"""How do the study's results change with the burst that the paper's listing computes?

The grid of aqm_study.py with burst and cburst of rate_kbit × 36 / 1000 kB, as in listing 6 of the paper (tc
reads the "k" as 1024 bytes): 295 ms of traffic at any rate, 3.7 MB at 100 Mbit/s and 37 MB at 1 Gbit/s. 800
runs.
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

RATES = axis(
    "rate",
    [
        "100 Mbit/s",
        "200 Mbit/s",
        "300 Mbit/s",
        "400 Mbit/s",
        "500 Mbit/s",
        "600 Mbit/s",
        "700 Mbit/s",
        "800 Mbit/s",
        "900 Mbit/s",
        "1000 Mbit/s",
    ],
)
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
        "no": None,
        "up": bulk(direction="up", cca="cubic", start=CROSS_START, stop=with_(test)),
    },
)
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(REPETITIONS)
