"""Does FQ-CoDel keep working latency low when the bottleneck slows down?"""

from narrows.spec import Link, bulk, fq_codel, icmp_echo, with_

link = Link(rate="50 Mbit/s", base_rtt="80 ms", queue=fq_codel())
link.at("40 s", rate="10 Mbit/s")
flow = bulk(cca="bbr", duration="120 s")
ping = icmp_echo(stop=with_(flow))
