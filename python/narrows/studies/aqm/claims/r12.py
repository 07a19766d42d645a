"""R12: the questions of R1 to R9 for CAKE, PIE, FQ-PIE and DualPI2, and for mixed traffic. An open
question: it "holds" where the new queues do as the paper's do."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from narrows.judging.parts import Item, Judge, Mark, Where, good
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.studies.aqm.claims.evidence import RATE, RTT, TAIL, USE, VARIATION, Way

MAX_UNDERUSED = 0.875  # R1: under 700 of 800 Mbit/s
MIN_FULL = 0.95  # R3
MAX_TAIL_MS = 5  # R2, R4
MAX_SHARE_OF_UNLOADED = 0.8  # R5
CLEAR_RISE_MS = 2  # R6
STABLE = 0.1  # R7, R8
LATE = "80-240us"  # R1's 10 to 30 µs at 800 Mbit/s, for the bucket that lasts eight times as long
EXPERIMENT, UNDERUSE = "r12_new_aqms.py", "r12_underuse.py"
FAIR, OTHERS = ("cake", "fq_pie"), ("pie", "dualpi2")


def items(runs: Sequence[Observed]) -> Iterator[Item]:
    """Both directions alone, uploads beside traffic; downloads with timers that are late or not."""
    for run in good(runs, EXPERIMENT):
        for way in DIRECTIONS if run.key.get("cross") == "no" else ("up",):
            if run.key.get("base_rtt") == "500us":
                yield Item(Way(run, way), {**run.key, "direction": way}, (run.run_id,))
            else:
                yield Item(Way(run, way), {}, (run.run_id,))  # another base RTT, which nothing is asked of
    for run in good(runs, UNDERUSE):
        key = {axis: label for axis, label in run.key.items() if axis in ("queue", "timer")}
        yield Item(Way(run, "down"), key, (run.run_id,))


UNDERUSED = replace(USE, name="utilisation without burst shaping", where={"timer": ()})
ALONE: Where = {"cross": "no", "direction": DIRECTIONS}
UP: Where = {"direction": "up"}
BESIDE: Where = {"cross": ("up", "mixed"), **UP}
NOBODY = {"cross": "no"}
SHAPED: Where = {"burst": "text"}
PLAIN: Where = {"burst": "off"}
judge = Judge(
    "R12",
    "Open: the same questions for CAKE, PIE and DualPI2, and for mixed traffic",
    "section 5",
    EXPERIMENT,
    by=("queue", "burst", "cross", "direction", "timer"),
    items=items,
    measures=(
        UNDERUSED,
        replace(USE, where=ALONE),
        replace(TAIL, where=ALONE),
        replace(VARIATION, where={"cross": ()}),
        replace(RATE, where=UP),
        replace(RTT, where=UP),
    ),
    marks=(
        Mark(
            "R1 (late timers leave the link under-used without burst shaping)", UNDERUSED.name,
            most=MAX_UNDERUSED, where={"timer": LATE},
        ),
        Mark("R2 (calm without)", TAIL.name, most=MAX_TAIL_MS, where=PLAIN),
        Mark("R3 (full use with burst shaping)", USE.name, MIN_FULL, where=SHAPED),
        Mark("R4 (calm with burst shaping)", TAIL.name, most=MAX_TAIL_MS, where=SHAPED),
        Mark("R5 (throughput drops)", RATE.name, most=MAX_SHARE_OF_UNLOADED, where=BESIDE, against=NOBODY),
        Mark("R6 (latency rises)", RTT.name, CLEAR_RISE_MS, apart=True, where=BESIDE, against=NOBODY),
        Mark("R7 (stable upload)", VARIATION.name, most=STABLE, where={**PLAIN, **NOBODY, **UP}),
        Mark(
            "R8 (fair queues stable)", VARIATION.name, most=STABLE, where={**SHAPED, **BESIDE, "queue": FAIR},
        ),
        Mark(
            "R8 (others not)", VARIATION.name, STABLE, strict=True,
            where={**SHAPED, **BESIDE, "queue": OTHERS},
        ),
    ),
    under="100 Mbit/s, base RTT 500 µs",
)  # fmt: skip
