"""How many packets does a halving lose when the bottleneck sends in bursts?

With exact timers a halving costs the flow one packet or two. Late timers make the bottleneck send several
packets at once, and the path hand on several acknowledgements: at 100 Mbit/s about 8, 17 and 41 with timers
that are 1, 2 and 5 ms late, as 10, 20 and 50 µs do at 10 Gbit/s. The bucket holds 40 ms, so nothing of the
rate is lost. Calibration refuses some runs at 5 ms: its trains cannot show the rate then.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, htb, machine, pair, repeat, sample, tap

LATE = {"exact": None, "1ms": ("0.5 ms", "1.5 ms"), "2ms": ("1 ms", "3 ms"), "5ms": ("2.5 ms", "7.5 ms")}

link = Dumbbell(
    rate="100 Mbit/s",
    queue=bfifo(limit="3 MB"),
    shaper=axis("timers", {n: htb(burst_per_rate="40 ms") if late else htb() for n, late in LATE.items()}),
    pairs=[pair("20 ms")],
)
machine(timer_latency=axis("timers", LATE))
flows = bulk(cca="reno", flows=axis("flows", [10, 50]), start_spread="2 min", duration="25 min")
tap("drops", interval="100 ms")
flow_tap(warm_up="5 min", interval="5 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(6)
