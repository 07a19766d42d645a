from narrows.judging.parts import Share
from narrows.studies.path_properties.claims.measures import within
from narrows.studies.path_properties.estimates import reordered, true_reordered

NEAR = 0.25
NEAR_SHARE = 0.0005
"""The share of reordered segments is right within a quarter, or one in two thousand segments."""
judge = within(
    "N9",
    "Reordered are segments that fill a hole sooner than a retransmission can, and those that are "
    "acknowledged after later data was SACKed without being sent again (our definition of what section 6.2 "
    "asks for)",
    "section 6.2",
    "n1_conditions.py",
    error=Share("error of the share of segments", read=reordered),
    truth=Share("true share of segments", read=true_reordered),
    near=NEAR,
    floor=NEAR_SHARE,
    words="RFC 4737 (Type-P-Reordered) between both ends",
)
