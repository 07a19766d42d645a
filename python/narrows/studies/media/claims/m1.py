"""M1: a flow of media follows a capacity that changes, and does not swing about it."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.media.claims.parts import follows
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "M1",
    "A flow of media follows a capacity that changes, and does not swing about it",
    "RFC 8867, section 5.1",
    "m1_single.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """One flow; 1, 2.5, 0.6 and 1 Mbit/s."""
    return follows(runs, CLAIM, 1)
