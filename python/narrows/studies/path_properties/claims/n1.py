from narrows.judging.parts import Share
from narrows.studies.path_properties.claims.measures import BULK, OnPaths, at_sender
from narrows.studies.path_properties.estimates import base_rtt, base_rtt_p01
from narrows.studies.path_properties.seen import SENDER

NEAR = 0.02
"""An estimate is right within 2 % of the base RTT."""
LEAST = Share("relative error of the minimum", read=base_rtt)
judge = OnPaths(
    "N1",
    "Base RTT is the minimum of per-ACK RTT samples, a cumulative ACK using the latest send time it covers",
    "section 5.4",
    "n1_conditions.py",
    measures=(LEAST, Share("relative error of the 1st percentile", read=base_rtt_p01)),
    marks=(at_sender(LEAST, NEAR),),
    under=BULK,
    decided_by={"quantity": LEAST.name, "place": SENDER},
)
