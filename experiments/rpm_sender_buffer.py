"""How much of responsiveness (RPM) is the sender's own buffer, not the network's?"""

from narrows.spec import Link, axis, fq_codel, pfifo, rpm

link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=axis("queue", [fq_codel(), pfifo(limit=1000)]))
test = rpm(
    variant="draft-08",
    tests="download",
    notsent_lowat=axis("unsent", ["16 KiB", "128 KiB", "0 B"]),  # 0: the whole send buffer
)
