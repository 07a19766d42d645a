from collections.abc import Iterable, Iterator

import numpy as np

from narrows.comparing.pair_shares import Side
from narrows.judging.parts import Item, Mark, Number, Numbers, Share, all_of, percent
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import RATES, Paired, item, most_tried

FEWEST = 5
"""Trials of a pair."""
UNSTABLE = 0.2
"""Interquartile range of a service's rates over their median."""
TOLD = 5
"""Services of a rate that are told, the least stable first."""


def often(runs: Iterable[Observed]) -> Iterator[Item]:
    """Each service of each pair that was tried often enough; of two equal ones the second."""
    every = list(runs)
    for rate in RATES:
        for one in most_tried(every, rate):
            if one.n >= FEWEST:
                for side in {side.service: side for side in one.sides}.values():
                    yield item(side, one, service=side.service, pair="+".join(one.pair))


def spread(side: Side) -> float | None:
    """How far its rates lie apart."""
    if not side.rate_mbps:
        return None
    low, high = np.quantile(side.rates_mbps, [0.25, 0.75])
    return float(high - low) / side.rate_mbps


SPREAD = Share("how much its rates vary (IQR over median)", read=spread)
MOST = "of what varies most"


def most(found: Numbers) -> Iterator[Number]:
    """What varies most at each rate."""
    for rate in RATES:
        if here := all_of(found, SPREAD.name, rate=rate):
            worst = max(here, key=lambda each: each.value)
            yield Number(MOST, "1", worst.value, worst.n, worst.conditions)


def told(found: Numbers) -> Numbers:
    """The least stable of each rate."""
    by_rate = (all_of(found, SPREAD.name, rate=rate) for rate in RATES)
    return [each for here in by_rate for each in sorted(here, key=lambda n: -n.value)[:TOLD]]


judge = Paired(
    "T23",
    "some services are unstable across trials",
    "section 4.5.5, Fig. 4.10",
    "t09_all_pairs.py",
    by=("rate", "service", "pair"),
    items=often,
    measures=(SPREAD,),
    derive=most,
    hidden=(MOST,),
    shows=told,
    marks=(Mark(f"{percent(UNSTABLE)} and more", MOST, UNSTABLE),),
)
