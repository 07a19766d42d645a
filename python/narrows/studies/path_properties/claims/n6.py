"""N6: throughput is bytes over active download time."""

from narrows.judging.judge import Mark, Share
from narrows.judging.verdict import Claim
from narrows.judging.words import percent
from narrows.studies.path_properties.claims.measures import AT_SENDER, BULK, OnPaths
from narrows.studies.path_properties.estimates import throughput

NEAR = 0.05
"""An estimate is right within 5 % of what the receiver's program read."""
CLAIM = Claim(
    "N6",
    "Throughput is bytes over active download time, off periods excluded",
    "section 5.7",
    "n1_conditions.py",
    AT_SENDER,
)
judge = OnPaths(
    CLAIM,
    measures=(Share("relative error", read=throughput),),
    marks=(Mark(f"within {percent(NEAR)}", most=NEAR, size=True),),
    under=f"{BULK}; a bulk flow is never off",
)
