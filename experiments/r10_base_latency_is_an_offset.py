"""Does added base latency only shift latency, and leave throughput and latency under load alone?

Claim R10, section 3 of the paper, which added delay by netem on the server and found only a constant
offset. Here the delay is on the path beyond the router, because netem on a sending host changes TCP.
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

MAX_SHIFT_ERROR_MS = 0.5  # idle latency minus (idle latency at the smallest base RTT + added)
MAX_THROUGHPUT_CHANGE = 0.05  # of the throughput at the smallest base RTT
MAX_WORKING_LATENCY_CHANGE_MS = 1  # of the probe's latency under load minus idle

RATES = axis("rate", ["100 Mbit/s"])
REPETITIONS = 3
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
    base_rtt=axis("base_rtt", ["500 us", "10500 us", "40500 us"]),
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
