from collections.abc import Iterable, Iterator

from narrows.judging.parts import Item, Mark, Share, percent, plain_of
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.measures import RATES, Paired, item, of_ten, sides
from narrows.studies.prudentia.testbed import TEN

SEVERAL = ("batches", "five", "hls", "shaka")
SINGLE_BBR = {"bbr", "download"}
NEARLY_NOTHING = 0.001
MANY, ONE, BBR = "several flows", "a single flow", "pairs of single BBR flows"


def losses(runs: Iterable[Observed]) -> Iterator[Item]:
    """The loss of each service in each pair, and again among all of its kind."""
    every = list(runs)
    for rate in RATES:
        for one in of_ten(every, rate):
            if len(one.pair) == 2:
                for each in sides([one]):
                    yield each
                    yield item(each.of, one, kind=MANY if each.of.service in SEVERAL else ONE)
                    if set(one.pair) <= SINGLE_BBR:
                        yield item(each.of, one, kind=BBR)


LOSS = Share("loss", read=lambda side: side.loss, where={"service": TEN})
OF_KIND = Share("loss of a kind", read=lambda side: side.loss, where={"kind": (MANY, ONE)})
WORST = Share("largest loss", read=lambda side: side.loss, where={"kind": BBR}, take=plain_of("max"))
judge = Paired(
    "T18",
    "services of several flows lose most (the batched download 8 %, the video over four 4 %, most at most "
    "1 %); pairs of single BBR flows lose nothing",
    "section 4.4.2",
    "t09_all_pairs.py",
    by=("rate", "service", "kind"),
    items=losses,
    measures=(LOSS, OF_KIND, WORST),
    hidden=(OF_KIND.name, WORST.name),
    whole=("rate",),
    marks=(
        Mark(
            "more than with a single flow", OF_KIND.name, 0, apart=True, strict=True, where={"kind": MANY},
            against={"kind": ONE},
        ),
        Mark(f"at most {percent(NEARLY_NOTHING)}", WORST.name, most=NEARLY_NOTHING),
    ),
)  # fmt: skip
