"""Do CAKE, PIE and DualPI2 leave the link unused without burst shaping, as claim R1 says of any AQM?

Claim R12 (open in Ray et al.), the question of R1: a download behind HTB's bucket of one packet (1600 B),
with timers that fire when due and with late ones. The bucket lasts 16 µs at the paper's 800 Mbit/s and 128 µs
at 100 Mbit/s, so the lateness of r01 (0 to 6 and 10 to 30 µs) is eight times as much here. CAKE also with its
own shaper, which has no bucket.
"""

from narrows.spec import Link, axis, cake, dualpi2, htb, machine, ndt7, own_shaper, pie, repeat, sample, tap

link = Link(
    rate="100 Mbit/s",
    queue=axis("queue", {"pie": pie(), "cake": cake(), "cake_shaper": cake(), "dualpi2": dualpi2()}),
    shaper=axis("queue", {"pie": htb(), "cake": htb(), "cake_shaper": own_shaper(), "dualpi2": htb()}),
    base_rtt="500 us",
    line_rate="1 Gbit/s",
)
test = ndt7(tests="download")
machine(
    timer_latency=axis("timer", {"exact": None, "0-48us": ("0 us", "48 us"), "80-240us": ("80 us", "240 us")})
)
tap("summary")
sample(tcp_info=None, qdisc=None, link="1 s")
repeat(6)
