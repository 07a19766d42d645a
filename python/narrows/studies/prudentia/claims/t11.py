from collections.abc import Iterable, Iterator
from itertools import pairwise

from narrows.judging.parts import Item, Mark
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import SHARE, Paired, alike

RATE = "8Mbit"
RIVALS = ("bbr", "cubic", "reno")
CONTENDERS = ("bbr", "two", "four", "eight")


def beside_flows(runs: Iterable[Observed]) -> Iterator[Item]:
    """A rival of one flow beside 1, 2, 4 and 8 flows of BBR."""
    every = list(runs)
    for rival in RIVALS:
        yield from alike(every, RATE, [(rival, name) for name in CONTENDERS], among=(rival, *CONTENDERS))


judge = Paired(
    "T11",
    "concurrent flows make a service contentious, in the constrained setting",
    "section 4.2.2, Fig. 4.3",
    "t11_flows.py",
    items=beside_flows,
    measures=(SHARE,),
    together="beside",
    marks=tuple(
        Mark(
            "the share falls with each doubling of the flows", most=1, strict=True, where={"beside": more},
            against={"beside": less},
        )
        for less, more in pairwise(CONTENDERS)
    ),
)  # fmt: skip
