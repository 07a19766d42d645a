"""M7: when a flow of media pauses and resumes, all share evenly again."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.media.claims.parts import even
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "M7",
    "When a flow of media pauses and resumes, all share evenly again",
    "RFC 8867, section 5.8",
    "m7_pause.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Three flows, of which one pauses; after it has resumed."""
    return even(runs, CLAIM, 3)
