"""What share do BBR flows take from as many NewReno or CUBIC flows?

Claim T7, Figure 3.8 of the thesis: 99.9 %.
"""

from narrows.spec import axis, bulk
from narrows.studies.corescale.testbed import dumbbell, each, flows, recorded

link = dumbbell()
bbr = bulk(cca="bbr", flows=flows(0.5), start_spread=each("spread"), duration=each("duration"))
others = bulk(
    cca=axis("against", ["reno", "cubic"]),
    flows=flows(0.5),
    start_spread=each("spread"),
    duration=each("duration"),
)
recorded("shares")
