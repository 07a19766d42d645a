from narrows.studies.aqm.claims.evidence import SHAPED
from narrows.studies.aqm.claims.r02 import calm

judge = calm(
    "R4",
    "With burst shaping and no cross traffic, latency stays stable",
    "Figure 4",
    "r04_stable_latency_with_burst.py",
    under="with burst shaping, without cross traffic",
    bursts=SHAPED,
)
