from narrows.judging.parts import Mark, Share, percent
from narrows.studies.path_properties.claims.measures import AT_SENDER, BULK, OnPaths
from narrows.studies.path_properties.estimates import throughput

NEAR = 0.05
"""An estimate is right within 5 % of what the receiver's program read."""
judge = OnPaths(
    "N6",
    "Throughput is bytes over active download time, off periods excluded",
    "section 5.7",
    "n1_conditions.py",
    measures=(Share("relative error", read=throughput),),
    marks=(Mark(f"within {percent(NEAR)}", most=NEAR, size=True),),
    under=f"{BULK}; a bulk flow is never off",
    decided_by=AT_SENDER,
)
