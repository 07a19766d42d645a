"""R8: at 100 Mbit/s with burst shaping and cross traffic, FQ-CoDel and SFQ stay stable, pfifo and CoDel do
not."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import usable, where
from narrows.studies.aqm.claims.steadiness import say, upload_variation
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

STABLE_VARIATION = 0.10  # of the test's own 10 ms bins at the bottleneck, median over repetitions
STABLE_QUEUES = ("fq_codel", "sfq")
UNSTABLE_QUEUES = ("pfifo", "codel")

CLAIM = Claim(
    "R8",
    "At 100 Mbit/s with burst shaping and cross traffic, FQ-CoDel and SFQ stay stable, no AQM and CoDel do "
    "not",
    "Figure 8",
    "r08_fair_queues_stay_stable.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Each of the four qdiscs on its side of STABLE_VARIATION."""
    chosen = where(usable(runs), rate_mbps=100, burst=("text", "listing"), cross=("up",))
    found = [s for s in upload_variation(chosen) if s.queue in STABLE_QUEUES + UNSTABLE_QUEUES]
    if not found:
        return not_measured(
            CLAIM, "no run with a tap at 100 Mbit/s with burst shaping and an upload cross flow"
        )
    right = [(s.number.value <= STABLE_VARIATION) == (s.queue in STABLE_QUEUES) for s in found]
    return Verdict(
        CLAIM,
        graded(right),
        f"variation (stable: at most {STABLE_VARIATION}): {say(found)}",
        tuple(s.number for s in found),
        "100 Mbit/s, burst shaping, CUBIC cross flow in the upload direction",
        ids(chosen),
    )
