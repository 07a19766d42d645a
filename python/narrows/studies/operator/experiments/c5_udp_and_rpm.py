"""Is UDP better for capacity, and is responsiveness a better headline than bandwidth?

Claim C5 (open questions of Ledesma and Livingood, IETF 123). Through each queue, one tool at a time: the
capacity test over TCP, iperf3 over UDP at 1.2 times the link's rate (what a test without a rate search
does), and the responsiveness test (RPM, draft-ietf-ippm-responsiveness-09). A sparse probe tells what a
third party meets.
"""

from narrows.spec import axis, bdp, bfifo, bulk, iperf3, rpm, udp_probe, with_
from narrows.studies.operator.testbed import capacity, link, recorded

link = link(fifo_50ms=bfifo(limit=bdp(2.5)), fifo_250ms=bfifo(limit=bdp(12.5)))
test = axis(
    "tool",
    {
        "tcp": capacity(),
        "udp": iperf3(udp_rate="24 Mbit/s", omit="3 s", duration="10 s", start="1 s"),
        "rpm": rpm(tests="download", variant="draft-08", start="1 s"),
    },
)
beside = axis("beside", {"nothing": None, "flow": bulk(cca="cubic", stop=with_(test))})
probe = udp_probe(interval="10 ms", stop=with_(test))
recorded()
