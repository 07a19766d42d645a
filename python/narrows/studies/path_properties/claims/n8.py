"""N8: jitter, from the differences of RTT samples that follow each other."""

from __future__ import annotations

from narrows.studies.path_properties.claims.within import Within
from narrows.studies.path_properties.estimates import jitter_ms
from narrows.studies.path_properties.seen import Seen
from narrows.judging.verdict import Claim
from narrows.units import NS_PER_MS

NEAR = 0.25
NEAR_MS = 0.25
"""Jitter is right within a quarter, or 0.25 ms, of that between both ends."""

CLAIM = Claim(
    "N8",
    "Jitter is the mean absolute difference of RTT samples that follow each other (RFC 5481, of round trips; "
    "our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    "sender",
)


def _true_ms(one: Seen) -> float | None:
    true = one.value("true_jitter_ns")
    return None if true is None else float(true / NS_PER_MS)


judge = Within(
    CLAIM,
    "error",
    jitter_ms,
    "true jitter",
    _true_ms,
    "ms",
    NEAR,
    NEAR_MS,
    "one-way delays of segments that arrive one after another",
    "jitter_ns",
).judge
