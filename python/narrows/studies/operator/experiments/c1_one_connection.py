"""Does one TCP connection fill the link in a capacity test, and do parallel connections?

Claim C1 (Ledesma and Livingood, IETF 123): "single-threaded TCP never achieves more than 80 % capacity, even
for speeds of 10 Mbps". The slides name neither the gateway's CCA, nor its buffers, nor the path. What could
keep a connection under 80 % is therefore swept: the CCA, random loss, and the depth of the buffer: 25 KB are
one BDP at a base RTT of 20 ms and a quarter of one at 80 ms.
"""

from narrows.spec import Link, axis, bdp, bfifo, capacity_test, docsis_pie
from narrows.studies.operator.testbed import recorded

link = Link(
    rate="10 Mbit/s",
    base_rtt=axis("base_rtt", ["20 ms", "80 ms"]),
    queue=axis(
        "queue",
        {
            "fifo_25KB": bfifo(limit="25 KB"),
            "fifo": bfifo(limit=bdp(2)),
            "docsis_pie": docsis_pie(limit=bdp(10)),
        },
    ),
    queue_up=bfifo(limit=bdp(2)),
    loss=axis("loss", ["0 %", "0.1 %"]),
    loss_up="0 %",
)
test = capacity_test(
    direction="down",
    connections=axis("connections", [1, 4, 8]),
    cca=axis("cca", ["cubic", "reno"]),
    omit="3 s",
    duration="10 s",
)
recorded()
