"""Is a policer's rate told within 3 %, or not at all, whatever the bucket, RTT and congestion control?

The buckets are of 3 to 80 ms of the rate, so from a fifth of the BDP to many of it.
"""

from narrows.spec import Link, axis, bulk, capture, htb, policer, repeat, sample
from narrows.studies.path_properties.testbed import POLICED_RATE

link = axis(
    "base_rtt",
    {
        f"{rtt}ms": axis(
            "bucket",
            {
                f"{burst}KB": Link(
                    rate=POLICED_RATE,
                    base_rtt=f"{rtt} ms",
                    shaper=policer(burst=f"{burst} KB"),
                    shaper_up=htb(),
                )
                for burst in (20, 60, 150, 250, 500)
            },
        )
        for rtt in (5, 20, 40, 100)
    },
)
flow = bulk(cca=axis("cca", ["cubic", "reno", "bbr"]), duration="10 s")
capture(at="server", snap="96 B")
sample(tcp_info=None, qdisc=None, link=None)
repeat(1)
