from narrows.judging.parts import Measure
from narrows.studies.path_properties.claims.measures import column, within
from narrows.studies.path_properties.estimates import jitter_ms
from narrows.units import NS_PER_MS

NEAR = 0.25
NEAR_MS = 0.25
"""Jitter is right within a quarter, or 0.25 ms, of that between both ends."""
judge = within(
    "N8",
    "Jitter is the mean absolute difference of RTT samples that follow each other (RFC 5481, of round trips; "
    "our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    error=Measure("error", "ms", jitter_ms),
    truth=Measure("true jitter", "ms", column("true_jitter_ns", NS_PER_MS)),
    near=NEAR,
    floor=NEAR_MS,
    words="one-way delays of segments that arrive one after another",
)
