"""What do CUBIC and BBR, of the kernel and of a QUIC stack, do on each medium, wherever the queue is?"""

from narrows.spec import axis, bulk, quic, udp_probe, with_
from narrows.studies.last_hop.testbed import START, link, recorded

link = link()
flow = axis(
    "flow",
    {
        "cubic": bulk(cca="cubic", start=START, duration="12 s"),
        "bbr": bulk(cca="bbr", start=START, duration="12 s"),
        "quinn_cubic": quic("quinn", cca="cubic", start=START, duration="12 s"),
        "quinn_bbr": quic("quinn", cca="bbr", start=START, duration="12 s"),
    },
)
probe = udp_probe(interval="10 ms", stop=with_(flow))
recorded()
