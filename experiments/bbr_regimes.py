"""How long do BBR flows take nearly all from as many NewReno flows, and how fair are BBR flows meanwhile?

Claim T7 fails at Edge and Middle and holds at Core, at the same base RTT and with a buffer as deep in time:
there the queue never drained while it was measured, so that no BBR flow saw the base RTT (docs/corescale.md).
Here the number of flows varies, and whether they start one after the other or within a second; the runs do
not end when the shares rest, because they may rest and then move again. At Core the queue is not recorded:
130000 drops a second would be gigabytes. The flows' RTTs tell how full it is.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, flow_tap, pair, repeat, sample, tap

MIDDLE = ("1 Gbit/s", "37.5 MB", "30 s", "8 min", "drops")
CORE = ("10 Gbit/s", "375 MB", "20 s", "15 min", "off")
SETTINGS = {
    "middle-100": (50, *MIDDLE),
    "middle-300": (150, *MIDDLE),
    "middle-1000": (500, *MIDDLE),
    "core-1000": (500, *CORE),
}
"""Flows of each CCA, rate, buffer, the time in which they start, until when they send, and the tap."""


def of(place: int) -> object:
    """One value of every setting."""
    return axis("setting", {name: one[place] for name, one in SETTINGS.items()})


queue = axis("setting", {name: bfifo(limit=one[2]) for name, one in SETTINGS.items()})
link = Dumbbell(rate=of(1), queue=queue, pairs=[pair("20 ms")])
start = axis("start", {"spread": of(3), "together": "1 s"})
bbr = bulk(cca="bbr", flows=of(0), start_spread=start, duration=of(4))
against = axis("against", ["reno", "bbr"])
others = bulk(cca=against, flows=of(0), start_spread=start, duration=of(4))
tap(of(5))
flow_tap(warm_up="2 min", interval="5 s")
sample(tcp_info=None, qdisc=None, link=None)
repeat(3)
