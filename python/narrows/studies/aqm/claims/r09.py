"""R9: at 900 Mbit/s with burst shaping and cross traffic, upload throughput varies much under every AQM."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import usable, where
from narrows.studies.aqm.claims.steadiness import say, upload_variation
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

STRONG_VARIATION = 0.25  # of the test's own 10 ms bins at the bottleneck, median over repetitions

CLAIM = Claim(
    "R9",
    "At 900 Mbit/s with burst shaping and cross traffic, all vary strongly",
    "Figure 9",
    "r09_all_vary_at_900_mbit.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Variation at least STRONG_VARIATION for each qdisc."""
    chosen = where(usable(runs), rate_mbps=900, burst=("text", "listing"), cross=("up",))
    found = upload_variation(chosen)
    if not found:
        return not_measured(
            CLAIM, "no run with a tap at 900 Mbit/s with burst shaping and an upload cross flow"
        )
    return Verdict(
        CLAIM,
        graded([s.number.value >= STRONG_VARIATION for s in found]),
        f"variation (strong: at least {STRONG_VARIATION}): {say(found)}",
        tuple(s.number for s in found),
        "900 Mbit/s, burst shaping, CUBIC cross flow in the upload direction",
        ids(chosen),
    )
