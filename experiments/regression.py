"""Does the queue still keep working latency low, and its link full?

A regression test: `narrows run regression` ends with status 3 if a pass mark does not hold. For a qdisc or
CCA of your own put own_qdisc("mine") or own_cca("mine") in its place (docs/regression.md).
"""

from narrows.spec import Link, axis, bulk, expect, fq_codel, icmp_echo, pfifo, repeat, with_

RATE = "20 Mbit/s"

link = Link(
    rate=RATE, base_rtt="20 ms", queue=axis("queue", {"candidate": fq_codel(), "baseline": pfifo(limit=200)})
)
flow = bulk(cca="cubic", duration="10 s")
ping = icmp_echo(interval="20 ms", stop=with_(flow))
repeat(3)

# The candidate's own promises, of every run.
expect("sojourn_p95_ms", below="20 ms", source="bottleneck", direction="down", only="queue=candidate")
expect("probe_loss_ratio", below="1 %", source="ping", only="queue=candidate")
# 20 Mbit/s less headers are 19.1: the link must stay full, whoever manages it.
expect("bulk_goodput_bps", above="17 Mbit/s", of="median")
# The rig itself: if the baseline had no queue, the candidate would have shown nothing.
expect("sojourn_p95_ms", above="50 ms", source="bottleneck", direction="down", only="queue=baseline")
