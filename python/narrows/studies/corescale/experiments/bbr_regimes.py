"""How long do BBR flows take nearly all from as many NewReno flows, and how fair are BBR flows meanwhile?

Claim T7 fails at Edge and Middle and holds at Core, at the same base RTT and with a buffer as deep in time:
there the queue never drained while it was measured, so that no BBR flow saw the base RTT (see the README).
Here, at 1 Gbit/s, the number of flows varies, and whether they start one after the other or within a second.
The runs do not end when the shares rest, because they may rest and then move again; longer ones fail, because
Linux gives up a flow that nothing comes through for a quarter of an hour.
"""

from narrows.spec import Dumbbell, axis, bfifo, bulk, pair
from narrows.studies.corescale.testbed import counted

half = axis("flows", {"100": 50, "300": 150, "500": 250, "1000": 500})
link = Dumbbell(rate="1 Gbit/s", queue=bfifo(limit="37.5 MB"), pairs=[pair("20 ms")])
start = axis("start", {"spread": "30 s", "together": "1 s"})
against = axis("against", ["reno", "bbr"])
bbr = bulk(cca="bbr", flows=half, start_spread=start, duration="8 min")
others = bulk(cca=against, flows=half, start_spread=start, duration="8 min")
counted("2 min", 3)
