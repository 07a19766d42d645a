from narrows.judging.parts import Share
from narrows.studies.path_properties.claims.measures import within
from narrows.studies.path_properties.estimates import random_loss, true_random_loss

NEAR = 0.25
NEAR_SHARE = 0.0005
"""The share of segments is right within a quarter, or one in two thousand segments."""
judge = within(
    "N10",
    "Random are lost segments of recoveries before which the RTT was below the middle between base RTT and "
    "its 99th percentile (our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    error=Share("error of the share of segments", read=random_loss),
    truth=Share("true share of segments", read=true_random_loss),
    near=NEAR,
    floor=NEAR_SHARE,
    words="segments lost between both ends less those that the queue dropped",
)
