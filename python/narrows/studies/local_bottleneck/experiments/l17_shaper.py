"""Does CAKE's shaper let a burst pass at the start, and does it lose packets when its rate is changed?

Claim L17 (Grazia et al., section III). A token bucket of 64 KB, as it is often set up, stands beside it. Both
queues hold more than two seconds of packets, so that no packet is lost for want of room.
"""

from narrows.spec import Link, axis, bulk, cake, own_shaper, pfifo, repeat, tap, tbf

queue = axis("shaper", {"cake": cake(), "tbf": pfifo(limit=4000)})
shaper = axis("shaper", {"cake": own_shaper(), "tbf": tbf(burst="64 KB")})
link = Link(rate="20 Mbit/s", base_rtt="30 ms", queue=queue, shaper=shaper)
link.at("10 s", rate="10 Mbit/s")
link.at("15 s", rate="20 Mbit/s")
flow = bulk(cca="cubic", start="2 s", duration="18 s")
tap("summary")
repeat(n=3)
