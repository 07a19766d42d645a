"""N2: the 99th percentile of RTT samples less the base RTT is the peak queueing delay."""

from narrows.judging.judge import Measure
from narrows.judging.verdict import Claim
from narrows.studies.path_properties.claims.measures import AT_SENDER, within
from narrows.studies.path_properties.estimates import peak_ms, true_peak_ms

NEAR = 0.1
NEAR_MS = 2.0
"""An estimate is right within 10 % or 2 ms of the 99th percentile of what packets waited."""
CLAIM = Claim(
    "N2",
    "Peak queueing delay is the 99th percentile of RTT samples less the base RTT",
    "section 5.5",
    "n1_conditions.py",
    AT_SENDER,
)
judge = within(
    CLAIM,
    Measure("error", "ms", peak_ms),
    Measure("true peak", "ms", true_peak_ms),
    NEAR,
    NEAR_MS,
    "99th percentiles of the sojourn times down and up, added",
)
