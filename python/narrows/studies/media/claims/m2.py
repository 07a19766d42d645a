"""M2: two flows of media follow a capacity that changes."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.media.claims.parts import follows
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "M2",
    "Two flows of media follow a capacity that changes",
    "RFC 8867, section 5.2",
    "m2_several.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Two flows; 4, 2, 3.5, 1 and 2 Mbit/s."""
    return follows(runs, CLAIM, 2)
