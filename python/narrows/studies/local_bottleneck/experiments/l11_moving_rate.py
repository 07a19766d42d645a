"""Does a local queue at a fixed rate keep the bottleneck when the ISP's rate moves, and CAKE's autorate?

Claim L11 (Grazia et al., V.E: open), on LTE and in low Earth orbit, against no local queue.
"""

from narrows.spec import cake, home_router
from narrows.studies.local_bottleneck.testbed import LOCAL, bulk_test, homes, recorded

link = homes(
    ["lte", "leo"],
    {
        "remote": home_router(),
        "local": LOCAL,  # 95 % of the mean
        "half": home_router(egress=cake(), ingress=cake(), share="50 %"),
        "autorate": home_router(egress=cake(), ingress=cake(autorate_ingress=True, ingress=True)),
    },
)
load, ping = bulk_test("down")
recorded()
