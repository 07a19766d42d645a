from collections.abc import Iterable, Iterator
from dataclasses import replace

from narrows.judging.parts import Item, Mark, Number, Numbers, Share, all_of, plain_of
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import RATES, Paired, all_met, item

BBR = ("bbr", "download", "batches", "dash", "hls", "five")
FEWEST = 3
"""Rivals that a service must have met."""


def rivals(runs: Iterable[Observed]) -> Iterator[Item]:
    """What others get beside a service, itself left out."""
    for one in all_met(runs):
        for service, other in zip(one.pair, one.sides[::-1], strict=True):
            share = other.share if one.pair[0] != one.pair[1] else None
            yield item(share, one, service=service)


LEFT = Share("share left", read=lambda share: share, least_n=FEWEST)
MEAN = replace(LEFT, name="mean share left", take=plain_of("mean"))
FOUND, OVER_BBR = "share left to rivals", "of the most and the least contentious those over BBR"


def extremes(found: Numbers) -> Iterator[Number]:
    """The services that leave least and most at each rate, and how many of the two are over BBR."""
    for rate in RATES:
        means = sorted(all_of(found, MEAN.name, rate=rate), key=lambda each: each.value)
        names = [each.conditions["service"] for each in (*means[:1], *means[-1:])]
        if len(means) > 1:
            for name in names:
                yield from (replace(n, name=FOUND) for n in all_of(found, LEFT.name, rate=rate, service=name))
            most, least = names
            under = {"rate": rate, "most": most, "least": least}
            yield Number(OVER_BBR, "1", float(sum(name in BBR for name in names)), 2, under)


judge = Paired(
    "T10",
    "the most and the least contentious service use variants of the same CCA: rivals of the batched download "
    "get 63 % on average at 50 Mbit/s, below half at 8; rivals of the video over BBR 117 %",
    "section 4.2.1, Fig. 4.2",
    "t09_all_pairs.py",
    by=("rate", "service"),
    items=rivals,
    measures=(LEFT, MEAN),
    derive=extremes,
    hidden=(LEFT.name, MEAN.name, OVER_BBR),
    marks=(Mark("both are over BBR", OVER_BBR, 2),),
)
