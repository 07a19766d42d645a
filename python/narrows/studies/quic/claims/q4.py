"""Q4: congestion avoidance needs many round trips to take a rate that has risen, BBR a few."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.quic.claims.changes import EXPERIMENT, PLACE, each
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "Q4",
    "Congestion avoidance needs many round trips to take a rate that has risen; BBR takes it within a few",
    "RFC 9438, section 1; draft-ietf-ccwg-bbr",
    EXPERIMENT,
)
MANY_MS = 1000.0
"""25 round trips."""
NEVER_MS = 6000.0
"""What is left of the run: who never filled the link needs at least that."""


def judge(runs: Iterable[Observed]) -> Verdict:
    """From 5 to 40 Mbit/s, after two seconds at 5."""

    def measure(run: Observed) -> float | None:
        if run.quantity("dropped_at_start", PLACE) is None:
            return None  # the tap kept no series of it
        took = run.quantity("refilled_ms", PLACE)
        return NEVER_MS if took is None else took

    def passes(stack: str, took: float) -> bool:
        return took < MANY_MS if "bbr" in stack else took >= MANY_MS

    words = "5 to 40 Mbit/s at 40 ms, until 100 ms have 90 %; 1 s is many round trips, 6 s the run's end"
    return each(runs, CLAIM, "time to fill the link", "ms", measure, passes, words)
