"""What share does a single BBR flow take from many NewReno or CUBIC flows?

Claim T6, Figures 3.6 and 3.7 of the thesis: 40 %, also against thousands.
"""

from narrows.spec import axis
from narrows.studies.corescale.testbed import all_but, dumbbell, from_all, recorded

link = dumbbell()
one = from_all("bbr", 1)
many = from_all(axis("against", ["reno", "cubic"]), all_but(1))
recorded("shares")
