from collections.abc import Iterable, Iterator

from narrows.judging.parts import Item, Mark, Share, percent
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import Paired, item, pairs

UNDER_USED = {"50Mbit": 0.85, "8Mbit": 0.95}
NAMED = {
    "50Mbit": [("batches", "cubic"), ("batches", "reno")],
    "8Mbit": [("dash", "hls"), ("dash", "shaka"), ("hls", "shaka"), ("dash", "dash")],
}


def uses(runs: Iterable[Observed]) -> Iterator[Item]:
    """What each of the pairs uses of the link."""
    every = list(runs)
    for rate, wanted in NAMED.items():
        for one in pairs(every, rate):
            if one.utilisation is not None and tuple(sorted(one.pair)) in wanted:
                yield item(one.utilisation, one, pair="+".join(one.pair))


judge = Paired(
    "T17",
    "unfairness and under-use go together: loss-based flows against bursts use less than 85 % of the link; "
    "two videos under-use 8 Mbit/s",
    "section 4.4.1",
    "t09_all_pairs.py",
    by=("rate", "pair"),
    items=uses,
    measures=(Share("use of the link", read=float),),
    marks=tuple(
        Mark(f"below {percent(most)}", most=most, strict=True, where={"rate": rate})
        for rate, most in UNDER_USED.items()
    ),
)
