"""Is instantaneous upload throughput at 100 Mbit/s stable under every AQM without load?

Claim R7, Figure 7 of the paper. Stable is a coefficient of variation of the test's own 10 ms bins at the
bottleneck; the paper gives no number and does not state its bins.
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

STABLE_VARIATION = 0.10
SETTLING_S = 1  # slow start is left out

RATES = axis("rate", ["100 Mbit/s"])
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
