"""Is it the window of BBR's least RTT after which a full queue drains that has dipped once?

500 flows of BBR that keep the queue full, and a dip of it two minutes after the start
(the experiment queue_dip): with Linux' window of ten seconds the queue drains ten seconds later. Here the
window is shorter and longer, by the module beside this file (make it first, its Makefile says how).
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, machine, own_cca, pair, repeat, sample, tap

WINDOWS = {"5s": " min_rtt_s=5", "10s": "", "20s": " min_rtt_s=20"}

link = Dumbbell(rate="1 Gbit/s", queue=bfifo(limit="37.5 MB"), pairs=[pair("20 ms")])
link.at("120 s", rate="1.25 Gbit/s")
link.at("120.05 s", rate="1 Gbit/s")
machine(modules=axis("window", {name: [f"tcp_bbr_parts.ko{words}"] for name, words in WINDOWS.items()}))
flows = bulk(cca=own_cca("bbr_parts"), flows=500, start_spread="30 s", duration="150 s")
tap("drops", interval="100 ms")
flow_tap(warm_up="40 s", interval="1 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(2)
