"""M4: flows of media of one congestion control share a link evenly."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.media.claims.parts import even
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "M4",
    "Flows of media of one congestion control share a link evenly",
    "RFC 8867, section 5.4",
    "m4_competing.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Three flows that come one after the other."""
    return even(runs, CLAIM, 3)
