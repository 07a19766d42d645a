from collections.abc import Sequence
from dataclasses import replace

from narrows.judging.parts import Item, Mark, Numbers, all_of, percent
from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import LAN, PAPER_QUEUES, SHAPED, USE, Paper, ways
from narrows.studies.aqm.claims.r01 import EVERY

MIN_UTILISATION = 0.95  # of the payload rate that the shaper allows, median of each condition
APART = ("ceil_only", "burst_only", "off")


def items(runs: Sequence[Observed]) -> list[Item]:
    """The paper's bursts by qdisc; with late timers, what ceil does alone, and the bucket alone, of all."""
    shaped = [item for item in ways(runs) if item.key["burst"] in SHAPED]
    apart = [item for item in ways(runs, DOWN, **EVERY) if item.key["burst"] in APART]
    return [*shaped, *(item for item in apart if item.key["timers"] != "exact")]


def lowest(found: Numbers) -> Numbers:
    """The four least of the paper's bursts, and the parts."""
    least = sorted(all_of(found, USE.name), key=lambda each: each.value)
    return [*least[:4], *all_of(found, PARTS.name)]


DOWN = ("down",)
PARTS = replace(USE, name="utilisation of parts", where=EVERY)
judge = Paper(
    "R3",
    "With burst shaping and no cross traffic, throughput is close to the configured rate for every AQM",
    "Figure 3",
    "r03_full_use_with_burst.py",
    by=("rate", "burst", "timers", "queue", "direction"),
    items=items,
    where={"path": LAN, "cross": "no"},
    measures=(replace(USE, where={"queue": PAPER_QUEUES}), PARTS),
    shows=lowest,
    marks=(Mark(f"use at least {percent(MIN_UTILISATION)} of what is possible", USE.name, MIN_UTILISATION),),
    under="burst shaping, no cross traffic",
    cause=lambda _, found: "; ".join(map(str, all_of(found, PARTS.name))),
    decided_by={"burst": SHAPED},
)
