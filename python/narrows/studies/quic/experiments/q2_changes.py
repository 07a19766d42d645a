"""What does a QUIC stack do at its start, after the rate fell and rose, and twice from the same seed?"""

from narrows.spec import Link, axis, bdp, bfifo
from narrows.studies.quic.testbed import contestants, recorded

link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit=bdp(1)))
link.at("6 s", rate="5 Mbit/s")
link.at("8 s", rate="40 Mbit/s")
# Two equal plans are one run: another port tells them apart, and a FIFO does not look at it.
port = axis("time", {"once": 4433, "again": 4434})
mine = contestants(stop="14 s", start_jitter="0 s", port=port)
recorded()
