"""What share does a single BBR flow take from many NewReno or CUBIC flows?

Claim T6, Figures 3.6 and 3.7 of the thesis: 40 %, also against thousands.
"""

from narrows.spec import axis, bulk
from narrows.studies.corescale.testbed import all_but, dumbbell, each, recorded

link = dumbbell()
one = bulk(cca="bbr", flows=1, start_spread=each("spread"), duration=each("duration"))
many = bulk(
    cca=axis("against", ["reno", "cubic"]),
    flows=all_but(1),
    start_spread=each("spread"),
    duration=each("duration"),
)
recorded("shares")
