"""R2: without burst shaping and cross traffic, latency shows no spikes."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.calm import judge_calm
from narrows.studies.aqm.claims.evidence import usable, where
from narrows.judging.verdict import Claim, Verdict

CLAIM = Claim(
    "R2",
    "Without burst shaping and cross traffic, latency shows no spikes",
    "Figure 2",
    "r02_no_spikes_without_load.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Under every measured rate and qdisc."""
    return judge_calm(
        CLAIM, where(usable(runs), burst=("off",), cross=("no",)), "without burst shaping and cross traffic"
    )
