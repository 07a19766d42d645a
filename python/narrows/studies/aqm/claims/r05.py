from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrows.judging.parts import Item, Mark, Number, Numbers, all_of, grouped, one, percent, std_of
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.studies.aqm.claims.evidence import IN_LAN, RATE, SHAPED, Paper, Way, ways

MAX_SHARE_OF_UNLOADED = 0.8  # throughput drops: median under cross traffic over median without
MIN_STD_RATIO = 10  # varies far more: the paper's is 138 / 1.51 = 91
STD_FLOOR_MBPS = 0.1  # a repetition-free standard deviation of 0 would make any ratio infinite
MIN_REPETITIONS = 3
LOADED = {"burst": SHAPED, "cross": DIRECTIONS}


def loaded_and_calm(runs: Sequence[Observed], *calm_bursts: str) -> list[Item]:
    """With burst shaping and a cross flow in its direction, and without one."""
    return [
        item
        for item in ways(runs)
        if (item.key["burst"] in SHAPED and item.key["cross"] == item.key["direction"])
        or (item.key["burst"] in calm_bursts and item.key["cross"] == "no")
    ]


THROUGHPUT = replace(RATE, least_n=MIN_REPETITIONS)
DEVIATION = replace(THROUGHPUT, name="std over repetitions", take=std_of)
GROWN = "growth of the deviation"
CALM = {"burst": "off", "cross": "no"}


def grown(found: Numbers) -> Iterator[Number]:
    """The deviation with both over that without."""
    for now in all_of(found, DEVIATION.name):
        before = one(found, DEVIATION.name, **{**now.conditions, **CALM})
        if before is not None and before is not now:
            yield Number(GROWN, "1", now.value / max(before.value, STD_FLOOR_MBPS), now.n, now.conditions)


def cause(chosen: Sequence[Item], _: Numbers) -> str:
    """How far downloads and uploads of FQ-CoDel vary when they are pooled, as the paper may have done."""
    told = []
    for under, items in grouped(chosen, ("cross", "queue")):
        if under["queue"] == "fq_codel" and under["cross"] != "no":
            both = [RATE.read(Way(item.of.run, way)) for way in DIRECTIONS for item in items]
            values = [value for value in both if value is not None]
            number = std_of("std of downloads and uploads pooled", "Mbit/s", values, under)
            told += [] if number is None else [str(number)]
    return "; ".join(told)


judge = Paper(
    "R5",
    "With burst shaping and CUBIC cross traffic, throughput drops and varies far more: FQ-CoDel at 900 "
    "Mbit/s has a standard deviation of 138 Mbit/s, against 1.51 without both",
    "Figure 5",
    "r05_throughput_under_cross_traffic.py",
    by=("rate", "queue", "burst", "cross", "direction"),
    items=lambda runs: loaded_and_calm(runs, "off"),
    where={**IN_LAN, "rate": "900Mbit"},
    measures=(THROUGHPUT, DEVIATION),
    derive=grown,
    hidden=(GROWN,),
    marks=(
        Mark(
            f"throughput drops to {percent(MAX_SHARE_OF_UNLOADED)} or less", THROUGHPUT.name,
            most=MAX_SHARE_OF_UNLOADED, where=LOADED, against=CALM,
        ),
        Mark(f"its deviation grows at least {MIN_STD_RATIO}-fold", GROWN, MIN_STD_RATIO),
    ),
    under="900 Mbit/s, the direction of the cross flow",
    cause=cause,
)  # fmt: skip
