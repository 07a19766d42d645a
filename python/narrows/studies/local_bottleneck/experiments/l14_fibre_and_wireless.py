"""Does fibre show no difference between BBR and CUBIC, and fixed wireless up to 275 ms?

Claim L14 (Grazia et al., Fig. 11b and 11c). Fibre at a fifth of its rates, with the same buffer in BDP: RTTs
in a FIFO of one BDP do not depend on the rate.
"""

from narrows.spec import Home, access, axis
from narrows.studies.local_bottleneck.testbed import ROUTERS, best_effort, recorded

router = axis("home", ROUTERS)
_FIBRE = access("ftth-1000-300") | {"rate": "200 Mbit/s", "rate_up": "60 Mbit/s"}
link = axis(
    "profile",
    {"ftth-200-60": Home(**_FIBRE, router=router), "fwa-30-3": Home(**access("fwa-30-3"), router=router)},
)
test = best_effort([4])
recorded()
