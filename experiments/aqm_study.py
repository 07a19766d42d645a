"""How do the AQM, the rate, burst shaping and cross traffic change what a speed test reports?

The whole grid of Ray et al., "Characterizing the Impact of Active Queue Management on Speed Test
Measurements" (arXiv 2511.19213), Figures 1 to 6: ten rates × four qdiscs × with and without burst shaping ×
with and without cross traffic × ten seeds = 1600 runs. Each run is an NDT7 download, then an upload, 10 s
each.

Burst shaping is that of the paper's text: ceil 1.6 × rate, burst 15 KB, cburst 30 KB. Its listing computes
other bursts; that variant is aqm_study_listing.py.

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
