from collections.abc import Iterable, Iterator

import numpy as np

from narrows.judging.parts import Item, Mark, Share, percent, plain_of
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import FAIR, Paired, all_met, item

COMMON = 0.5
"""Common: at least so many of the losers get 90 % or less."""
TWO, SAME = "different services", "a service against itself"


def losers(runs: Iterable[Observed]) -> Iterator[Item]:
    """The smaller share of each pair."""
    for one in all_met(runs):
        least = min(side.share or 0.0 for side in one.sides)
        yield item(least, one, pairs=TWO if one.pair[0] != one.pair[1] else SAME)


LOSER = Share("loser's share", read=float, where={"pairs": TWO})
OWN = Share("smaller share", read=float, where={"pairs": SAME})
UNFAIR = Share(
    "losers that get too little", read=float, where={"pairs": TWO},
    take=plain_of(lambda x: np.mean(x <= FAIR)),
)  # fmt: skip
judge = Paired(
    "T9",
    "unfair outcomes are common: the median loser gets 69 % of its share at 8 Mbit/s (73 % of losers at most "
    "90 %, 22 % at most half) and 86 % at 50; a service against itself 88 % on average",
    "section 4.2, Fig. 4.2",
    "t09_all_pairs.py",
    by=("rate", "pairs"),
    items=losers,
    measures=(LOSER, OWN, UNFAIR),
    hidden=(UNFAIR.name,),
    marks=(Mark(f"{percent(COMMON)} of losers and more get at most {percent(FAIR)}", UNFAIR.name, COMMON),),
    decided_by={"quantity": "loser's share"},
)
