"""How many packets are lost per halving of a NewReno window, and how bursty are the drops?

Claim T3, Figure 3.3 of the thesis: about 1.7 at Edge, 6 to 9 at Core; Goh–Barabási burstiness of the drops
about 0.2 and 0.35. The runs are those of t01.
"""

from narrows.spec import bulk
from narrows.studies.corescale.testbed import dumbbell, each, recorded

link = dumbbell()
flows = bulk(cca="reno", flows=each("flows"), start_spread=each("spread"), duration=each("duration"))
recorded()
