"""N2: the 99th percentile of RTT samples less the base RTT is the peak queueing delay."""

from __future__ import annotations

from narrows.studies.path_properties.claims.within import Within
from narrows.studies.path_properties.estimates import peak_ms, true_peak_ms
from narrows.judging.verdict import Claim

NEAR = 0.1
NEAR_MS = 2.0
"""An estimate is right within 10 % or 2 ms of the 99th percentile of what packets waited."""

CLAIM = Claim(
    "N2",
    "Peak queueing delay is the 99th percentile of RTT samples less the base RTT",
    "section 5.5",
    "n1_conditions.py",
    "sender",
)

judge = Within(
    CLAIM,
    "error",
    peak_ms,
    "true peak",
    true_peak_ms,
    "ms",
    NEAR,
    NEAR_MS,
    "99th percentiles of the sojourn times down and up, added",
    "peak_queueing_delay_ns",
    "no captures at a sender of a path with a tap",
).judge
