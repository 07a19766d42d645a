from narrows.judging.parts import Mark, Measure, quantity
from narrows.studies.quic.claims.measures import PLACE, OfStacks

judge = OfStacks(
    "Q6",
    "After a pause a window that is kept is not sent as a burst: nothing is lost because of it",
    "RFC 9002, section 7.7",
    "q6_idle.py",
    measures=(Measure("dropped after the pause", "packets", quantity("dropped_after_pause", PLACE)),),
    marks=(Mark("none is dropped", most=0),),
    under="dropped in the first second after a pause of 2 s, behind a FIFO of 1 BDP",
)
