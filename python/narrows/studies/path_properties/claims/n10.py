"""N10: random loss apart from what queues drop, from the RTT before losses."""

from __future__ import annotations

from narrows.studies.path_properties.claims.within import Within
from narrows.studies.path_properties.estimates import random_loss, true_random_loss
from narrows.judging.verdict import Claim

NEAR = 0.25
NEAR_SHARE = 0.0005
"""The share of segments is right within a quarter, or one in two thousand segments."""

CLAIM = Claim(
    "N10",
    "Random are lost segments of recoveries before which the RTT was below the middle between base RTT and "
    "its 99th percentile (our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    "sender",
)

judge = Within(
    CLAIM,
    "error of the share of segments",
    random_loss,
    "true share of segments",
    true_random_loss,
    "1",
    NEAR,
    NEAR_SHARE,
    "segments lost between both ends less those that the queue dropped",
    "lost_segments_low_rtt",
).judge
