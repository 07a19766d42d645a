"""Must connections, omitted ramp and duration be re-tuned when the AQM changes?

Claim C4 (Ledesma and Livingood, IETF 123); also the sweep of C1 and C3. A setting is good where its reading
is within 5 % of what the bottleneck can carry; the smallest good setting is compared between AQMs.
"""

from narrows.spec import Link, axis, bdp, bfifo, cake, capacity_test, docsis_pie, dualpi2, fq_codel
from narrows.studies.operator.testbed import recorded

link = Link(
    rate="20 Mbit/s",
    base_rtt=axis("base_rtt", ["20 ms", "80 ms"]),
    queue=axis(
        "queue",
        {
            "fifo": bfifo(limit="125 KB"),  # 50 ms
            "docsis_pie": docsis_pie(limit=1000),
            "dualpi2": dualpi2(),
            "fq_codel": fq_codel(),
            "cake": cake(),
        },
    ),
    queue_up=bfifo(limit=bdp(2.5)),
)
test = capacity_test(
    direction="down",
    connections=axis("connections", [1, 4, 8]),
    omit=axis("omit", ["0 s", "3 s"]),
    duration=axis("duration", ["3 s", "10 s"]),
)
recorded()
