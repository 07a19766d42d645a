"""Are NewReno flows fair to each other at scale, and CUBIC flows?

Claim T4 of the thesis (figure not shown there): Jain's index above 0.99 at Core, all flows with one base RTT.
"""

from narrows.spec import axis
from narrows.studies.corescale.testbed import dumbbell, from_all, recorded

link = dumbbell()
flows = from_all(axis("cca", ["reno", "cubic"]))
recorded()
