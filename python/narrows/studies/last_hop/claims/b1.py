"""B1: what a speed test calls the speed is what the last hop carries."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.last_hop.claims.parts import by_condition, judged, numbers, read_share
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "B1",
    "What a speed test calls the speed is what the last hop carries, whatever it is",
    "What a reader of a result takes for granted",
    "b1_tests.py",
    decided_by="ndt7",
)
OFF = 0.1


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each test on each medium, wherever the queue stands."""
    own = by_condition(runs, CLAIM.name)
    found = numbers(own, "reading over what is carried", "1", lambda run, each: read_share(run, each[0]))
    marks = {each: abs(number.value - 1) <= OFF for each, number in found.items()}
    return judged(CLAIM, own, found, marks, f"readings within {OFF:.0%}")
