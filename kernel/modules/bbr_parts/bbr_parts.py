"""Which part of BBR does its unfairness behind a shallow buffer hang on?

Ten flows of BBR, 200 ms, drop-tail of 0.3 BDP, where Jain's index is below 0.5. Variants of the module
beside this file (make it first, its Makefile says how): BBR as it is, without its detector of policers, with
one or four packets sent at once at least. What of the queue and the timers it hangs on:
the experiment bbr_shallow_buffer.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, machine, own_cca, pair, repeat, sample, tap

PARTS = {
    "as_it_is": "",
    "no_policer": " policer=0",
    "one_at_once": " segs=1",
    "four_at_once": " segs=4",
    "one_at_once_no_policer": " segs=1 policer=0",
}

link = Dumbbell(rate="100 Mbit/s", queue=bfifo(limit="750 KB"), pairs=[pair("200 ms")])
machine(modules=axis("bbr", {name: [f"tcp_bbr_parts.ko{words}"] for name, words in PARTS.items()}))
flows = bulk(cca=own_cca("bbr_parts"), flows=10, start_spread="2 min", duration="15 min")
tap("drops", interval="100 ms")
flow_tap(warm_up="5 min", interval="5 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(6)
