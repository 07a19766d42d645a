"""How long do many BBR flows keep the queue full, by themselves and against as many NewReno flows?

Claims T5 and T7 hang on when the queue first drains (the README of this study), and in most runs of
bbr_regimes.py it had not after its eight minutes. Here they last longer. Linux gives up a flow that
nothing comes through for a quarter of an hour (15 retransmissions); here it tries on, so that a run tells
of the queue and not of that limit. At 10 Gbit/s a sixth of a million packets is dropped each second, too
many to keep: what the flows deliver tells.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, pair
from narrows.studies.corescale.testbed import counted


def at(*of_each: str) -> object:
    return axis("rate", dict(zip(("1Gbit", "10Gbit"), of_each, strict=True)))


half = axis("flows", {"300": 150, "500": 250, "1000": 500})
minutes = at("40 min", "20 min")
link = Dumbbell(
    rate=at("1 Gbit/s", "10 Gbit/s"),
    queue=bfifo(limit=at("37.5 MB", "375 MB")),
    pairs=[pair("20 ms")],
    sysctls={"all": {"net.ipv4.tcp_retries2": 255}},
)
against = axis("against", ["reno", "bbr"])
bbr = bulk(cca="bbr", flows=half, start_spread="30 s", duration=minutes)
others = bulk(cca=against, flows=half, start_spread="30 s", duration=minutes)
counted("2 min", 3, drops=at("drops", "off"), bins=at("100 ms", None))
