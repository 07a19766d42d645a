"""M3: a flow of media follows its capacity also while its feedback's way is congested."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.media.claims.parts import follows
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "M3",
    "A flow of media follows its capacity also while its feedback's way is congested",
    "RFC 8867, section 5.3",
    "m3_feedback.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Media both ways; 2, 1, 0.5 and 2 Mbit/s downstream."""
    return follows(runs, CLAIM, 1)
