from narrows.judging.parts import Mark, Measure
from narrows.runs.observed import Observed
from narrows.studies.quic.claims.measures import CHANGES, PLACE, OfStacks
from narrows.studies.quic.testbed import BBR, LOSS_BASED

MANY_MS = 1000.0
"""25 round trips."""
NEVER_MS = 6000.0
"""What is left of the run: who never filled the link needs at least that."""


def refilled_ms(run: Observed) -> float | None:
    """Until 100 ms have 90 % of the new rate; None where the tap kept no series of it."""
    if run.quantity("dropped_at_start", PLACE) is None:
        return None
    took = run.quantity("refilled_ms", PLACE)
    return NEVER_MS if took is None else took


judge = OfStacks(
    "Q4",
    "Congestion avoidance needs many round trips to take a rate that has risen; BBR takes it within a few",
    "RFC 9438, section 1; draft-ietf-ccwg-bbr",
    CHANGES,
    where={"time": "once"},
    measures=(Measure("time to fill the link", "ms", refilled_ms),),
    marks=(
        Mark("loss-based stacks need 1 s and more", least=MANY_MS, where={"stack": LOSS_BASED}),
        Mark("stacks of BBR less", most=MANY_MS, strict=True, where={"stack": BBR}),
    ),
    under="5 to 40 Mbit/s at 40 ms, until 100 ms have 90 %; 1 s is many round trips, 6 s the run's end",
)
