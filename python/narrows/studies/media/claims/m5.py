"""M5: a flow of media neither starves beside a long TCP flow nor starves it."""

from narrows.judging.verdict import Claim
from narrows.studies.media.claims.measures import beside

CLAIM = Claim(
    "M5",
    "A flow of media neither starves beside a long TCP flow nor starves it",
    "RFC 8867, section 5.6",
    "m5_long_tcp.py",
)
# One flow of media, one of CUBIC.
judge = beside(CLAIM, 1, 0.5, "an even split")
