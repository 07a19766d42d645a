"""Are NewReno flows fair to each other at scale, and CUBIC flows?

Claim T4 of the thesis (figure not shown there): Jain's index above 0.99 at Core, all flows with one base RTT.
"""

from narrows.spec import axis, bulk
from narrows.studies.corescale.testbed import dumbbell, each, recorded

link = dumbbell()
flows = bulk(
    cca=axis("cca", ["reno", "cubic"]),
    flows=each("flows"),
    start_spread=each("spread"),
    duration=each("duration"),
)
recorded()
