from collections.abc import Iterable, Iterator

from narrows.judging.parts import Item, Mark, Measure, Number, Numbers, all_of, one, plain_of
from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.measures import (
    CLASS_RTT,
    CLASSES,
    FTTC,
    AtHome,
    by_class,
    class_rate_mbps,
)

ALL = {"class": "all"}


def items(runs: Iterable[Observed]) -> Iterator[Item]:
    """All remote runs together; remote BBR by class, and local BBR's BK."""
    for item in by_class(runs):
        home, cca, name = (item.key.get(axis) for axis in ("home", "cca", "class"))
        if item.key.get("profile") != FTTC:
            continue
        if home == "remote" and name == "BE":
            yield Item(item.of[0], {"home": "remote", **ALL}, item.run_ids, item.once)
        if (
            item.key.get("profile") == FTTC
            and cca == "bbr"
            and (home == "remote" or (home, name) == ("local", "BK"))
        ):
            yield item


def last(run: Observed) -> float | None:
    """1 where CS5 has the lowest rate of the four uploads."""
    rates = [rate for name in CLASSES if (rate := class_rate_mbps(name)(run)) is not None]
    return float(rates[0] == min(rates)) if len(rates) == len(CLASSES) else None


LAST = Measure("CS5 comes last (1) or not (0)", "1", last, ALL)
EVER = Measure("CS5 comes last in a run", "1", last, ALL, take=plain_of(max))
RTT = Measure("RTT", "ms", CLASS_RTT.read, {"class": CLASSES})
WORSE = "lowest remote RTT over that of local BK"


def worse(found: Numbers) -> Iterator[Number]:
    """BBR's best class in the FIFO against its background class at home."""
    remote, local = all_of(found, RTT.name, home="remote"), one(found, RTT.name, home="local")
    if local is not None and len(remote) == len(CLASSES):
        yield Number(WORSE, "1", min(each.value for each in remote) / local.value, local.n, {"cca": "bbr"})


judge = AtHome(
    "L18",
    "In a FIFO the marked class can even be worst, and remote BBR worse than local BK",
    "Fig. 13a, 13c",
    "l18_marked_but_worse.py",
    by=("home", "cca", "class"),
    items=items,
    measures=(LAST, EVER, RTT),
    derive=worse,
    hidden=(EVER.name, WORSE),
    whole=(),
    marks=(
        Mark("CS5 comes last in some remote run", EVER.name, 1),
        Mark("BBR's RTTs in the FIFO are above local BK's", WORSE, 1, strict=True),
    ),
    under="FTTC 30/10, uploads",
)
