"""Is our own CUBIC flow the same cross traffic as iperf3's?

The paper's cross traffic is iperf3. With CPU time free, iperf3 wakes for every packet and a run costs
several times more, so the study uses `bulk`. Both hand the same kernel's TCP as much as it takes. This
experiment holds one against the other: what the speed test reads, and what the cross flow gets, must agree
within the spread of the repetitions.
"""

from narrows.spec import (
    Link,
    axis,
    bulk,
    codel,
    fq_codel,
    htb,
    iperf3,
    ndt7,
    pfifo,
    repeat,
    sample,
    tap,
    udp_probe,
    with_,
)

link = Link(
    rate=axis("rate", ["100 Mbit/s", "900 Mbit/s"]),
    queue=axis("queue", {"pfifo": pfifo(limit=100), "codel": codel(), "fq_codel": fq_codel()}),
    shaper=htb(ceil_factor=1.6, burst="15 KB", cburst="30 KB"),
    base_rtt="500 us",
    line_rate="1 Gbit/s",
)
test = ndt7(start="7 s")
probe = udp_probe(interval="10 ms", stop=with_(test))
cross = axis(
    "cross",
    {
        "iperf3": iperf3(direction="up", cca="cubic", start="2 s", stop=with_(test)),
        "bulk": bulk(direction="up", cca="cubic", start="2 s", stop=with_(test)),
    },
)
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(5)
