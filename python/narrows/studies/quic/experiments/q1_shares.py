"""What does a QUIC stack get behind each queue, alone and beside the kernel's CUBIC?

No DualPI2: none of the stacks sends ECT(1), so it would be one more queue without L4S.
"""

from narrows.spec import Link, axis, bdp, bfifo, bulk, cake, codel, fq_codel
from narrows.studies.quic.testbed import contestants, recorded

LENGTH = "15 s"

link = axis(
    "link",
    {
        name: Link(
            rate=rate,
            base_rtt=rtt,
            queue=axis(
                "queue",
                {
                    "fifo_1bdp": bfifo(limit=bdp(1)),
                    "fifo_4bdp": bfifo(limit=bdp(4)),
                    "codel": codel(),
                    "fq_codel": fq_codel(),
                    "cake": cake(),
                },
            ),
        )
        for name, rate, rtt in (("20Mbit_40ms", "20 Mbit/s", "40 ms"), ("5Mbit_80ms", "5 Mbit/s", "80 ms"))
    },
)
mine = contestants(stop=LENGTH, qlog=True)
other = axis("beside", {"nothing": None, "cubic": bulk(cca="cubic", stop=LENGTH)})
recorded()
