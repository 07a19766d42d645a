"""What does a QUIC stack get beside the kernel's BBR and beside itself, one queue for all or one for each?

The part of `q1_shares` that would double it: at one rate, behind two queues.
"""

from narrows.spec import Link, axis, bdp, bfifo, bulk, fq_codel
from narrows.studies.quic.testbed import contestants, recorded

LENGTH = "15 s"

link = Link(
    rate="20 Mbit/s",
    base_rtt="40 ms",
    queue=axis("queue", {"fifo_1bdp": bfifo(limit=bdp(1)), "fq_codel": fq_codel()}),
)
mine = contestants(stop=LENGTH)
other = axis("beside", {"bbr": bulk(cca="bbr", stop=LENGTH), "itself": contestants(stop=LENGTH)})
recorded()
