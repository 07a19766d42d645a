from narrows.judging.parts import Share
from narrows.studies.path_properties.claims.measures import AT_SENDER, BULK, OnPaths, at_sender
from narrows.studies.path_properties.estimates import capacity, variation

NEAR = 0.05
NEAR_VARIATION = 0.1
"""Capacity is right within 5 % of the mean rate, its variation within 0.1 of the true one."""
CAPACITY = Share("relative error of capacity", read=capacity)
VARIED = Share("error of its variation", read=variation)
judge = OnPaths(
    "N7",
    "Capacity is the median rate of acknowledged payload in windows in which a queue stood, its variation "
    "the difference of their 90th and 10th percentiles over it (our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    measures=(CAPACITY, VARIED),
    marks=(at_sender(CAPACITY, NEAR, "capacity "), at_sender(VARIED, NEAR_VARIATION, "its variation ")),
    under=f"{BULK}; truth: the plan's rate, as payload of full packets",
    decided_by=AT_SENDER,
)
