from collections.abc import Sequence

import numpy as np

from narrows.judging.parts import Item, Mark, Numbers, fold, grouped, one
from narrows.metrics.statistics.tail import pooled_bin_quantile
from narrows.runs.observed import DIRECTIONS
from narrows.studies.aqm.claims.evidence import IN_LAN, RTT, SHAPED, Paper, Way
from narrows.studies.aqm.claims.r05 import LOADED, loaded_and_calm

MIN_RISE_MS = 1  # clearly: median RTT of the test with cross traffic minus without
PAPER_MS = (6, 9)  # "about 7 to 8 ms"
MIN_SPREAD_BETWEEN_QUEUES = 1.5  # differing by AQM: highest over lowest median
SPREAD = "highest over lowest RTT of the qdiscs"


def with_and_without(found: Numbers) -> Numbers:
    """The conditions that were tried with a cross flow."""
    return [
        each
        for each in found
        if each.conditions["cross"] != "no"
        or one(found, RTT.name, **{**each.conditions, "cross": each.conditions["direction"]})
    ]


def cause(chosen: Sequence[Item], _: Numbers) -> str:
    """How much of the RTT stood in each queue."""
    stood = []
    for under, items in grouped((item for item in chosen if item.key["cross"] != "no"), ("queue",)):
        tails = [Way(item.of.run, way).tail("sojourn_ms") for way in DIRECTIONS for item in items]
        p99 = pooled_bin_quantile([tail for tail in tails if tail is not None], 0.99)
        if p99 is not None and np.isfinite(p99):
            stood.append(f"{under['queue']} {p99:.3g} ms")
    return f"p99 of the sojourn time, all packets: {', '.join(stood)}." if stood else ""


judge = Paper(
    "R6", "With burst shaping and cross traffic, latency rises clearly, to about 7 to 8 ms at 900 Mbit/s, "
    "differing by AQM", "Figure 6", "r06_latency_under_cross_traffic.py",
    by=("rate", "queue", "burst", "cross", "direction"),
    items=lambda runs: loaded_and_calm(runs, "off", *SHAPED),
    where={**IN_LAN, "rate": "900Mbit"},
    measures=(RTT,),
    derive=fold(SPREAD, RTT.name, ("burst", "cross"), burst=SHAPED, cross=DIRECTIONS),
    hidden=(SPREAD,),
    shows=with_and_without,
    marks=(
        Mark(
            f"rises by at least {MIN_RISE_MS} ms", RTT.name, MIN_RISE_MS, apart=True, where=LOADED,
            against={"cross": "no"},
        ),
        Mark("is {} to {} ms".format(*PAPER_MS), RTT.name, *PAPER_MS, where=LOADED, beside={"cross": "no"}),
        Mark(f"differs by AQM {MIN_SPREAD_BETWEEN_QUEUES:g}-fold", SPREAD, MIN_SPREAD_BETWEEN_QUEUES),
    ),
    under="900 Mbit/s, the direction of the cross flow",
    cause=cause,
)  # fmt: skip
