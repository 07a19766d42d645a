"""How well does the Mathis model predict each NewReno flow, on losses and on halvings?

Claim T2, Figure 3.2 of the thesis: at Core the median error is at most 10 % on halvings and 45 to 55 % on
losses; at Edge both are below 10 %. The runs are those of t01.
"""

from narrows.spec import bulk
from narrows.studies.corescale.testbed import dumbbell, each, recorded

link = dumbbell()
flows = bulk(cca="reno", flows=each("flows"), start_spread=each("spread"), duration=each("duration"))
recorded()
