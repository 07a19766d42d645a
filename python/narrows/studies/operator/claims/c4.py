"""C4: parallel connections, omit time and duration must be re-tuned when the AQM changes."""

from __future__ import annotations

from collections.abc import Iterator

from narrows.judging.judge import Judge, Mark, Numbers, all_of, one
from narrows.judging.verdict import Claim, Number
from narrows.judging.words import percent
from narrows.studies.operator.claims.c1 import by_value
from narrows.studies.operator.claims.measures import FILLED

GOOD = 0.95  # of the largest payload rate that the shaper allows
BEFORE = {"queue": "fifo"}
CLAIM = Claim(
    "C4",
    "Parallel connections, omit time and duration must be re-tuned when the AQM changes",
    "slide 10",
    "c4_parameters.py",
)
LOST = "settings that are good with the FIFO and no longer are"


def lost(found: Numbers) -> Iterator[Number]:
    """For each base RTT and AQM: how many of the settings that both were tried with."""
    counts: dict[tuple[str, str], list[bool]] = {}
    for now in all_of(found, FILLED.name):
        before = one(found, FILLED.name, **{**now.conditions, **BEFORE})
        if before is not None and before is not now:
            place = now.conditions["base_rtt"], now.conditions["queue"]
            counts.setdefault(place, []).append(before.value >= GOOD > now.value)
    for (base_rtt, queue), gone in counts.items():
        yield Number(LOST, "1", float(sum(gone)), len(gone), {"base_rtt": base_rtt, "queue": queue})


judge = Judge(
    CLAIM,
    by=("base_rtt", "queue", "connections", "omit", "duration"),
    measures=(FILLED,),
    derive=lost,
    hidden=(LOST,),
    shows=by_value,
    marks=(Mark(f"some setting that read {percent(GOOD)} with the FIFO no longer does", LOST, 1),),
    under="20 Mbit/s, a FIFO of 50 ms",
)
