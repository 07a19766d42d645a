"""R7: instantaneous upload throughput at 100 Mbit/s without load is stable under every AQM."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import usable, where
from narrows.studies.aqm.claims.steadiness import say, upload_variation
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

STABLE_VARIATION = 0.10

CLAIM = Claim(
    "R7",
    "Instantaneous upload throughput at 100 Mbit/s without load is stable under every AQM",
    "Figure 7",
    "r07_stable_upload_at_100_mbit.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Variation at most STABLE_VARIATION for each qdisc."""
    chosen = where(usable(runs), rate_mbps=100, burst=("off",), cross=("no",))
    found = upload_variation(chosen)
    if not found:
        return not_measured(CLAIM, "no run with a tap at 100 Mbit/s without burst shaping and cross traffic")
    return Verdict(
        CLAIM,
        graded([s.number.value <= STABLE_VARIATION for s in found]),
        f"variation (stable: at most {STABLE_VARIATION}): {say(found)}",
        tuple(s.number for s in found),
        "100 Mbit/s, no burst shaping, no cross traffic",
        ids(chosen),
    )
