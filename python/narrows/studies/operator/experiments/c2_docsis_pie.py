"""Does DOCSIS-PIE halve the loaded latency of classic traffic?

Claim C2 (Ledesma and Livingood, IETF 123): downstream loaded latency fell from about 50 ms to about 25 ms
when DOCSIS-PIE was deployed. The slides say neither how deep the buffer was before, nor the base RTT. 25 ms
are the 10 ms target of RFC 8034 and a base RTT of 15 ms; then 50 ms are a buffer of about 35 ms. Deeper
ones are tested beside it.
"""

from narrows.spec import Link, axis, bdp, bfifo, capacity_test, docsis_pie, udp_probe, with_
from narrows.studies.operator.testbed import recorded

BASE_RTT_MS = 15

link = Link(
    rate=axis("rate", ["25 Mbit/s", "50 Mbit/s"]),
    base_rtt=f"{BASE_RTT_MS} ms",
    queue=axis(
        "queue",
        {
            "fifo_35ms": bfifo(limit=bdp(35 / BASE_RTT_MS)),
            "fifo_100ms": bfifo(limit=bdp(100 / BASE_RTT_MS)),
            "fifo_250ms": bfifo(limit=bdp(250 / BASE_RTT_MS)),
            "docsis_pie": docsis_pie(limit=bdp(250 / BASE_RTT_MS)),
        },
    ),
    queue_up=bfifo(limit=bdp(35 / BASE_RTT_MS)),
)
test = capacity_test(direction="down", connections=4, omit="3 s", duration="12 s")
probe = udp_probe(interval="10 ms", stop=with_(test))
recorded("500 ms")
