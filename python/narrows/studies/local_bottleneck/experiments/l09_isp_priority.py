"""Does an ISP with pfifo_fast serve CS5 first, and is its RTT still about 100 and 200 ms?

Claim L9 (Grazia et al., Fig. 14). Linux' pfifo_fast looks at four bits of the old TOS byte in which CS5, EF,
CS1 and CS0 are alike. So it is run with pfifo_fast, and with strict priority for CS5, as which the figure
looks.
"""

from narrows.spec import Home, access, axis, bfifo, home_router, pfifo_fast, prio
from narrows.studies.local_bottleneck.testbed import classes, recorded

DEEP = bfifo(limit="500 KB")
isp = axis("isp", {"pfifo_fast": pfifo_fast(), "prio_cs5": prio(dscp={"CS5": 0}, bands=[DEEP, DEEP])})
link = Home(**access("fttc-30-10") | {"queue": isp}, router=axis("home", {"remote": home_router()}))
test = classes()
recorded()
