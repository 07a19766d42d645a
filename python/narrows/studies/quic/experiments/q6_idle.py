"""What does a QUIC stack do after two seconds without data: does it start anew, or send what it may at once?

quinn's client asks for 5 MB, pauses, and asks for them again on the same connection; who answers is the
contestant.
"""

from narrows.spec import Link, bdp, bfifo
from narrows.studies.quic.testbed import HTTP, contestants, recorded

link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit=bdp(1)))
mine = contestants(HTTP, peer="quinn", bytes="5 MB", pause="2 s", start_jitter="0 s", time_limit="60 s")
recorded()
