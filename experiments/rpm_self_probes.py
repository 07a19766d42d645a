"""What do RPM's self probes wait for: the network, the sender's socket, or its HTTP/2 frames?"""

from narrows.spec import Link, axis, cake, rpm, sample, udp_probe, with_

link = Link(rate="50 Mbit/s", base_rtt="20 ms", queue=cake())
test = rpm(variant="draft-08", tests="download", notsent_lowat=axis("unsent", ["4 KiB", "16 KiB", "64 KiB"]))
probe = udp_probe(interval="20 ms", stop=with_(test))
sample(tcp_info="20 ms", qdisc=None, link=None)
