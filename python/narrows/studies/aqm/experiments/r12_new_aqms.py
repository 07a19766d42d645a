"""What do CAKE, PIE, FQ-PIE and DualPI2 do to a speed test: alone, beside a flow, and amid mixed traffic?

Claim R12 (open in Ray et al.). The conditions of r02 to r08 at 100 Mbit/s: with and without burst shaping,
with and without one CUBIC flow beside the test; and at another base RTT, as r10. CAKE stands under the same
HTB as the others. Mixed traffic is what a home has at once: the classic flow, a low-latency flow (DCTCP as
ECT(1)), a background flow (CS1) and a sparse EF stream.
"""

from narrows.spec import (
    Link,
    axis,
    bulk,
    cake,
    dualpi2,
    fq_pie,
    htb,
    ndt7,
    pie,
    repeat,
    sample,
    tap,
    udp_probe,
    with_,
)

BASE_RTT = "500 us"  # a small LAN, as r02 to r11
LINE_RATE = "1 Gbit/s"
CROSS_START = "2 s"
TEST_START = "7 s"

link = Link(
    rate="100 Mbit/s",
    queue=axis(
        "queue", {"pie": pie(), "fq_pie": fq_pie(), "cake": cake(diffserv="diffserv4"), "dualpi2": dualpi2()}
    ),
    shaper=axis(
        "burst",
        {
            "off": htb(),  # rate and tc's own burst of about one packet
            "text": htb(ceil_factor=1.6, burst="15 KB", cburst="30 KB"),
        },
    ),
    base_rtt=axis("base_rtt", {"500us": "500 us", "20ms": "20 ms"}),
    line_rate=LINE_RATE,
)
test = ndt7(start=TEST_START)
probe = udp_probe(interval="10 ms", stop=with_(test))
cross = axis(
    "cross",
    {
        "no": None,
        "up": bulk(direction="up", cca="cubic", start=CROSS_START, stop=with_(test)),
        "mixed": bulk(direction="up", cca="cubic", start=CROSS_START, stop=with_(test)),
    },
)
low_latency = axis(
    "cross",
    {
        "no": None,
        "up": None,
        "mixed": bulk(direction="up", cca="dctcp", l4s=True, start=CROSS_START, stop=with_(test)),
    },
)
background = axis(
    "cross",
    {
        "no": None,
        "up": None,
        "mixed": bulk(direction="up", cca="cubic", dscp="CS1", start=CROSS_START, stop=with_(test)),
    },
)
voice = axis(
    "cross",
    {
        "no": None,
        "up": None,
        "mixed": udp_probe(interval="20 ms", dscp="EF", payload="172 B", stop=with_(test)),
    },
)
tap("summary")
sample(tcp_info=None, qdisc="1 s", link="1 s")
repeat(6)
