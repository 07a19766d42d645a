"""What share do CUBIC flows take from as many NewReno flows?

Claim T8, Figure 3.5 of the thesis: 70 to 80 %.
"""

from narrows.studies.corescale.testbed import dumbbell, flows, from_all, recorded

link = dumbbell()
cubic = from_all("cubic", flows(0.5))
reno = from_all("reno", flows(0.5))
recorded("shares")
