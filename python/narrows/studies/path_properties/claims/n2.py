from narrows.judging.parts import Measure
from narrows.studies.path_properties.claims.measures import within
from narrows.studies.path_properties.estimates import peak_ms, true_peak_ms

NEAR = 0.1
NEAR_MS = 2.0
"""An estimate is right within 10 % or 2 ms of the 99th percentile of what packets waited."""
judge = within(
    "N2",
    "Peak queueing delay is the 99th percentile of RTT samples less the base RTT",
    "section 5.5",
    "n1_conditions.py",
    error=Measure("error", "ms", peak_ms),
    truth=Measure("true peak", "ms", true_peak_ms),
    near=NEAR,
    floor=NEAR_MS,
    words="99th percentiles of the sojourn times down and up, added",
)
