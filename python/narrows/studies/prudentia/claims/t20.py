from collections.abc import Iterable, Iterator
from itertools import pairwise

from narrows.comparing.pair_shares import Summary
from narrows.judging.parts import Mark, Number, Numbers, all_of
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import FAIR, RATE, SHARE, Paired, labels, met, pairs, sides
from narrows.studies.prudentia.testbed import LENGTHS

FEWEST = 4
"""Rates that the two must have met at."""


def sweep(runs: Iterable[Observed]) -> list[Summary]:
    """The two at each rate, of trials of the greatest length at which they met at enough rates: trials of
    other lengths are other trials. Nothing where there is no such length."""
    every = list(runs)
    for length in reversed(LENGTHS):
        found = [one for one in met(pairs(every, length=length)) if set(one.pair) == {"dash", "download"}]
        if len({labels(one)["rate"] for one in found}) >= FEWEST:
            return found
    return []


TURNS = "turns of the share"


def turns(found: Numbers) -> Iterator[Number]:
    """How often the share begins to rise or to fall, from rate to rate."""
    shares = all_of(found, SHARE.name)
    if len(shares) > 1:
        rises = [b.value > a.value for a, b in pairwise(shares)]
        yield Number(TURNS, "1", float(sum(a != b for a, b in pairwise(rises))), len(shares))


judge = Paired(
    "T20",
    "contentiousness is not monotonic in bandwidth: a video against a BBR download from 8 to 100 Mbit/s; its "
    "own rate falls from 30 to 50 Mbit/s; fair beyond 70",
    "section 4.5.2, Fig. 4.7",
    "t20_bandwidth.py",
    items=lambda runs: sides(sweep(runs)),
    where={"service": "dash"},
    measures=(SHARE, RATE),
    derive=turns,
    hidden=(RATE.name, TURNS),
    marks=(
        Mark("not monotonic", TURNS, 1),
        Mark(
            "its own rate falls from 30 to 50 Mbit/s", RATE.name, most=1, strict=True,
            where={"rate": "50Mbit"}, against={"rate": "30Mbit"},
        ),
        Mark("fair beyond 70 Mbit/s", SHARE.name, FAIR, where={"rate": ("80Mbit", "100Mbit")}),
    ),
)  # fmt: skip
