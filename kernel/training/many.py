"""What does the kernel do most when hundreds of flows fill a deep queue? As `paths.py`, for many flows.

With one RTT it runs ahead (patch 0017), with two it does not."""

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, pair, repeat, sample, tap

rtts = {"one": [pair("20 ms")], "two": [pair("20 ms"), pair("50 ms")]}
link = Dumbbell(rate="2.5 Gbit/s", queue=bfifo(limit="60 MB"), pairs=axis("rtts", rtts))
flows = bulk(cca=axis("cca", ["reno", "cubic", "bbr"]), flows=400, start_spread="500 ms", duration="2500 ms")
tap("drops", interval="100 ms")
flow_tap(warm_up="1 s", interval="1 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(1)
