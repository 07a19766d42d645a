"""N10: random loss apart from what queues drop, from the RTT before losses."""

from narrows.judging.judge import Share
from narrows.judging.verdict import Claim
from narrows.studies.path_properties.claims.measures import AT_SENDER, within
from narrows.studies.path_properties.estimates import random_loss, true_random_loss

NEAR = 0.25
NEAR_SHARE = 0.0005
"""The share of segments is right within a quarter, or one in two thousand segments."""
CLAIM = Claim(
    "N10",
    "Random are lost segments of recoveries before which the RTT was below the middle between base RTT and "
    "its 99th percentile (our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    AT_SENDER,
)
judge = within(
    CLAIM,
    Share("error of the share of segments", read=random_loss),
    Share("true share of segments", read=true_random_loss),
    NEAR,
    NEAR_SHARE,
    "segments lost between both ends less those that the queue dropped",
)
