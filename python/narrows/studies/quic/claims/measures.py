"""What the claims measure: how much of what a stack sent was dropped, what a change does, and shares."""

from functools import partial

from narrows.judging.parts import Judge, Mark, Share, Words, figure, good, of_runs, over, percent
from narrows.runs.items import SHARED
from narrows.runs.observed import Observed

CHANGES = "q2_changes.py"
PLACE = "bottleneck down"
HOP = "bottleneck"
MUCH = 0.1
"""A part of what it sends: a loss-based control of the same stack loses about 2 % there, slow start in it."""
LOST = Share(
    "share of its packets that were dropped",
    read=over(figure("mine", "tap_dropped", at=HOP), figure("mine", "tap_arrived", at=HOP)),
)
OfStacks = partial(Judge, by=("stack",))
"""One number of each contestant."""
SHARES = "q1_shares.py"


def _share(run: Observed) -> float | None:
    mine, other = (run.quantity(SHARED, f"{item} down") for item in ("mine", "other"))
    return None if mine is None or other is None else mine / (run.rate_bps() / 2)


BESIDE = {"beside": ("cubic", "bbr", "itself")}
OfShares = partial(
    Judge,
    by=("beside", "link", "queue", "stack"),
    items=lambda runs: of_runs([*good(runs, SHARES), *good(runs, "q1_beside")]),
    measures=(Share("share of its fair rate", read=_share),),
    under="of half of the link, in the middle 9 s of 15 s",
    besides=("q1_beside",),
)
"""What part of its fair rate each stack got that was not alone."""


def much(*claim: *Words, stack: str, beside: str) -> Judge:
    """Whether more than `MUCH` of a stack's packets were dropped behind a FIFO of one BDP."""
    return Judge(
        *claim,
        by=("stack", "beside", "link"),
        where={"stack": stack, "beside": beside, "queue": "fifo_1bdp"},
        measures=(LOST,),
        marks=(Mark(f"more than {percent(MUCH)} are much", least=MUCH, strict=True, each=True),),
        under="behind a FIFO of 1 BDP",
    )
