"""How wrong is my own speed test, and by how much more than iperf3, behind two queues?"""

from narrows.spec import Link, axis, codel, pfifo, repeat, sample, tool, udp_probe, under_test, with_

link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue=axis("queue", [pfifo(), codel()]))
test = under_test(tool("my_http_test", duration="5 s"))  # the folder beside this file, and all others
probe = udp_probe(interval="20 ms", stop=with_(test))  # a third party, which loads nothing
sample(tcp_info="50 ms", qdisc=None, link=None)
repeat(3)
