"""M6: flows of media keep most of the link beside short TCP flows."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.media.claims.parts import beside
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "M6",
    "Flows of media keep most of the link beside short TCP flows",
    "RFC 8867, section 5.7",
    "m6_short_tcp.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Two flows of media; ten sources of 40 KB every ten seconds."""
    return beside(runs, CLAIM, 2, 1.0, "the link")
