"""M1: a flow of media follows a capacity that changes, and does not swing about it."""

from narrows.judging.verdict import Claim
from narrows.studies.media.claims.measures import follows

CLAIM = Claim(
    "M1",
    "A flow of media follows a capacity that changes, and does not swing about it",
    "RFC 8867, section 5.1",
    "m1_single.py",
)
# One flow; 1, 2.5, 0.6 and 1 Mbit/s.
judge = follows(CLAIM, 1)
