"""How long do many BBR flows keep the queue full, by themselves and against as many NewReno flows?

Claims T5 and T7 hang on when the queue first drains (docs/corescale.md), and in most runs of bbr_regimes.py it
had not after its eight minutes. Here they last longer. Linux gives up a flow that nothing comes through for a
quarter of an hour (15 retransmissions); here it tries on, so that a run tells of the queue and not of that limit.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, pair, repeat, sample, tap

half = axis("flows", {"300": 150, "500": 250, "1000": 500})
link = Dumbbell(
    rate="1 Gbit/s",
    queue=bfifo(limit="37.5 MB"),
    pairs=[pair("20 ms")],
    sysctls={"all": {"net.ipv4.tcp_retries2": 255}},
)
against = axis("against", ["reno", "bbr"])
bbr = bulk(cca="bbr", flows=half, start_spread="30 s", duration="40 min")
others = bulk(cca=against, flows=half, start_spread="30 s", duration="40 min")
tap("drops", interval="100 ms")
flow_tap(warm_up="2 min", interval="5 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(3)
