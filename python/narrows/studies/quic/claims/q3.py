from narrows.judging.parts import Mark, Measure, over, quantity
from narrows.runs.observed import Observed
from narrows.studies.quic.claims.measures import CHANGES, PLACE, OfStacks

PACKET_BITS = 1500 * 8


def held(run: Observed) -> float:
    """Packets that the path holds."""
    return run.rate_bps() * run.link.base_rtt_ns / 1e9 / PACKET_BITS


judge = OfStacks(
    "Q3",
    "A start goes too far, by as much as the path holds, which is lost",
    "RFC 9406, section 1",
    CHANGES,
    where={"time": "once"},
    measures=(Measure("dropped at the start", "BDP", over(quantity("dropped_at_start", PLACE), held)),),
    marks=(Mark("at least one BDP", least=1),),
    under="dropped in the first 3 s, in BDPs of 1500 B packets, behind a FIFO of 1 BDP",
)
