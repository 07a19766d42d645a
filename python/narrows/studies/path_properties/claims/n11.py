from collections.abc import Iterator, Sequence

import numpy as np

from narrows.judging.parts import Item, Mark, Share, percent, plain_of
from narrows.runs.observed import Observed
from narrows.studies.path_properties.claims.measures import AT_SENDER, OnPaths, at_sender
from narrows.studies.path_properties.estimates import burst_bytes, policed_rate
from narrows.studies.path_properties.seen import POLICERS, Seen, items
from narrows.studies.path_properties.testbed import POLICED, POLICED_RATE

RIGHT = 0.9
NEAR_RATE = 0.1
NEAR_BURST = 0.25
"""Nine in ten logs are judged rightly; a policer's rate is within a tenth, a bucket's depth a quarter."""
TOLD_RATE = 0.03
"""Over many policers: each rate that is told; NULL where none can be."""


def logs(runs: Sequence[Observed]) -> Iterator[Item]:
    """Logs at the sender: on each path, and of many policers by congestion control alone."""
    yield from items()(runs)
    for one in items(POLICERS)(runs):
        yield Item(one.of, {"many": one.key["cca"], "place": one.key["place"]}, one.run_ids)


def rightly(one: Seen) -> float | None:
    """Whether it is said rightly that the path is policed; every one of the many is."""
    told = one.value("policed")
    true = one.run.experiment == POLICERS or one.value("true_policed")
    return None if told is None else float(told == true)


def says(one: Seen) -> float | None:
    """Whether a log of a path that is policed says at all whether it is."""
    return float(one.value("policed") is not None) if one.value("true_policed") else None


def told_rate(one: Seen) -> float:
    """Whether a rate is told at all."""
    return float(policed_rate(one) is not None)


mean, most = plain_of("mean"), plain_of(lambda errors: np.max(np.abs(errors)))
ON_PATH, OF_MANY = {"path": ()}, {"many": ()}
JUDGED = Share("judged rightly", read=rightly, take=mean)
SAYS = Share("logs of a policed path that say whether it is", read=says, take=mean, where={"path": POLICED})
RATE = Share("relative error of the policer's rate", read=policed_rate, where=ON_PATH)
BURST = Share("relative error of the burst", read=burst_bytes, where=ON_PATH)
TOLD = Share("rates that are told", read=told_rate, where=OF_MANY, take=mean)
WORST = Share("largest relative error of a told rate", read=policed_rate, where=OF_MANY, take=most)
judge = OnPaths(
    "N11",
    "A policer is where losses come without a queue and only above one rate, which is what passes while "
    "losses last; a burst is the largest excess of acknowledged payload over the rate after a pause (our "
    "definitions of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    by=("path", "base_rtt", "many", "place"),
    items=logs,
    where=AT_SENDER,
    measures=(JUDGED, SAYS, RATE, BURST, TOLD, WORST),
    hidden=(SAYS.name,),
    marks=(
        Mark(f"judged rightly in {percent(RIGHT)} and more", JUDGED.name, RIGHT),
        Mark("logs of a policed path say whether it is", SAYS.name, 0, strict=True),
        at_sender(RATE, NEAR_RATE, "the policer's rate "),
        at_sender(BURST, NEAR_BURST, "the burst "),
        Mark(f"each told rate within {percent(TOLD_RATE)}", WORST.name, most=TOLD_RATE),
    ),
    under="CUBIC for 15 s, 20 Mbit/s, buckets of 60 KB; CUBIC, NewReno and BBR for 10 s, policers of "
    f"{POLICED_RATE} with buckets of 20 to 500 KB, 5 to 100 ms",
    decided_by=AT_SENDER,
)
