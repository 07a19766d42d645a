"""B2: the latency under load that a speed test shows is what somebody else at home meets."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.last_hop.claims.parts import DELAYS, by_condition, judged, met_ms, numbers, shown_ms
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "B2",
    "The latency under load that a speed test shows is what somebody else at home meets",
    "What a reader of a result takes for granted; draft-ietf-ippm-responsiveness, section 1",
    "b1_tests.py",
    decided_by="ndt7",
)
OFF = 0.25


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each test that shows one, on each medium, against the median round trip of a probe beside it."""
    own = {each: those for each, those in by_condition(runs, CLAIM.name).items() if each[0] in DELAYS}

    def over(run: Observed, tool: str) -> float | None:
        shown, met = shown_ms(run, tool), met_ms(run, "p50")
        return None if shown is None or not met else shown / met

    found = numbers(own, "latency shown over that met", "1", lambda run, each: over(run, each[0]))
    met = numbers(own, "round trip that another meets, median", "ms", lambda run, _: met_ms(run, "p50"))
    marks = {each: abs(number.value - 1) <= OFF for each, number in found.items()}
    return judged(CLAIM, own, found, marks, f"latencies within {OFF:.0%}", met.values())
