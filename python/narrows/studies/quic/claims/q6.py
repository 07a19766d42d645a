"""Q6: after a pause a window that is kept is not sent as a burst: nothing is lost because of it."""

from narrows.judging.items import quantity
from narrows.judging.judge import Mark, Measure
from narrows.judging.verdict import Claim
from narrows.studies.quic.claims.measures import PLACE, OfStacks

CLAIM = Claim(
    "Q6",
    "After a pause a window that is kept is not sent as a burst: nothing is lost because of it",
    "RFC 9002, section 7.7",
    "q6_idle.py",
)
judge = OfStacks(
    CLAIM,
    measures=(Measure("dropped after the pause", "packets", quantity("dropped_after_pause", PLACE)),),
    marks=(Mark("none is dropped", most=0),),
    under="dropped in the first second after a pause of 2 s, behind a FIFO of 1 BDP",
)
