"""M5: a flow of media neither starves beside a long TCP flow nor starves it."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.media.claims.parts import beside
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "M5",
    "A flow of media neither starves beside a long TCP flow nor starves it",
    "RFC 8867, section 5.6",
    "m5_long_tcp.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """One flow of media, one of CUBIC."""
    return beside(runs, CLAIM, 1, 0.5, "an even split")
