from narrows.judging.parts import Measure, Share
from narrows.studies.path_properties.claims.measures import AT_SENDER, BULK, OnPaths, at_sender, column
from narrows.studies.path_properties.estimates import aggregation, true_aggregation

NEAR = 0.25
"""The median is right within a quarter of the segments for each packet that came back."""
ERROR = Share("relative error", read=aggregation)
judge = OnPaths(
    "N3",
    "ACK aggregation is the median of newly acknowledged bytes over the MSS, without ACKs that carry SACK "
    "and the one right after",
    "section 5.6",
    "n1_conditions.py",
    measures=(
        ERROR,
        Measure("segments an ACK", "1", column("ack_aggregation")),
        Measure("segments a packet back", "1", true_aggregation),
    ),
    marks=(at_sender(ERROR, NEAR),),
    under=f"{BULK}; a receiver that acknowledges every second segment",
    decided_by=AT_SENDER,
)
