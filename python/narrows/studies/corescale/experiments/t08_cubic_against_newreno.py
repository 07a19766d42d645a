"""What share do CUBIC flows take from as many NewReno flows?

Claim T8, Figure 3.5 of the thesis: 70 to 80 %.
"""

from narrows.spec import bulk
from narrows.studies.corescale.testbed import dumbbell, each, flows, recorded

link = dumbbell()
cubic = bulk(cca="cubic", flows=flows(0.5), start_spread=each("spread"), duration=each("duration"))
reno = bulk(cca="reno", flows=flows(0.5), start_spread=each("spread"), duration=each("duration"))
recorded("shares")
