"""How far below the ISP's rate must a local queue be: is 5 % enough, or less?

Claim L16 (Grazia et al., III: 5 %, not swept), from 0 to 20 %.
"""

from narrows.spec import Home, access, axis, cake, home_router
from narrows.studies.local_bottleneck.testbed import best_effort, recorded

share = axis("share", ["80 %", "90 %", "95 %", "98 %", "99 %", "100 %"])
router = home_router(egress=cake(), ingress=cake(), share=share)
link = Home(**access("fttc-30-10"), router=router)
test = best_effort([4])
recorded()
