"""M7: when a flow of media pauses and resumes, all share evenly again."""

from narrows.judging.verdict import Claim
from narrows.studies.media.claims.measures import even

CLAIM = Claim(
    "M7",
    "When a flow of media pauses and resumes, all share evenly again",
    "RFC 8867, section 5.8",
    "m7_pause.py",
)
# Three flows, of which one pauses; after it has resumed.
judge = even(CLAIM, 3)
