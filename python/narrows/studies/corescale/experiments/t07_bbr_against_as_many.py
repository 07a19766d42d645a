"""What share do BBR flows take from as many NewReno or CUBIC flows?

Claim T7, Figure 3.8 of the thesis: 99.9 %.
"""

from narrows.spec import axis
from narrows.studies.corescale.testbed import dumbbell, flows, from_all, recorded

link = dumbbell()
bbr = from_all("bbr", flows(0.5))
others = from_all(axis("against", ["reno", "cubic"]), flows(0.5))
recorded("shares")
