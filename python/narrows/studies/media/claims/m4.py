"""M4: flows of media of one congestion control share a link evenly."""

from narrows.judging.verdict import Claim
from narrows.studies.media.claims.measures import even

CLAIM = Claim(
    "M4",
    "Flows of media of one congestion control share a link evenly",
    "RFC 8867, section 5.4",
    "m4_competing.py",
)
# Three flows that come one after the other.
judge = even(CLAIM, 3)
