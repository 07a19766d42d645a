"""R4: with burst shaping and no cross traffic, latency stays stable."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.calm import judge_calm
from narrows.studies.aqm.claims.evidence import usable, where
from narrows.judging.verdict import Claim, Verdict

CLAIM = Claim(
    "R4",
    "With burst shaping and no cross traffic, latency stays stable",
    "Figure 4",
    "r04_stable_latency_with_burst.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Under every measured rate, qdisc and burst."""
    return judge_calm(
        CLAIM,
        where(usable(runs), burst=("text", "listing"), cross=("no",)),
        "with burst shaping, without cross traffic",
    )
