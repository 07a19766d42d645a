"""Do speed tests under cross traffic tell what the queue does?

The experiment of the golden plan: a bit of everything that a plan can hold.
"""

from narrows.spec import (
    Link,
    after,
    axis,
    bulk,
    capture,
    codel,
    command,
    htb,
    icmp_echo,
    iperf3,
    machine,
    ndt7,
    repeat,
    sample,
    tap,
    udp_probe,
    with_,
)

link = Link(
    rate=axis("rate", ["100 Mbit/s"]),
    rate_up="20 Mbit/s",
    base_rtt="21 ms",
    delay_up="1 ms",
    jitter="2 ms",
    jitter_up="0 s",
    loss_up="0.5 %",
    line_rate="1 Gbit/s",
    queue=codel(limit="1 BDP"),
    shaper=axis("burst", {"on": htb(ceil_factor=1.6, burst="15 KB", cburst="30 KB")}),
    sysctls={"server": {"net.ipv4.tcp_ecn": 1}},
)
link.at("12 s", rate="50 Mbit/s", base_rtt="40 ms")

test = ndt7(start="5 s")
cross = axis("cross", {"yes": iperf3(cca="cubic", stop=with_(test))})
upload = bulk(direction="up", cca="bbr", flows=2, start=after(test, "1 s"), bytes="5 MB", dscp="CS1")
probe = udp_probe(stop=with_(test))
ping = icmp_echo(start="1 s", duration="3 s", dscp="EF")
versions = command("iperf3 --version", node="server", time_limit="5 s")

trace = capture("client", snap="128 B", start="1 s", stop="2 s")
tap("summary")
sample(tcp_info="20 ms", link=None)
machine(timer_latency=("0 us", "5 us"), memory="256 MiB")
repeat(1)
