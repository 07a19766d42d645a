"""T21: a kernel update changes BBR's outcomes."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import made_here
from narrows.studies.verdict import Claim, Verdict, not_measured

CLAIM = Claim(
    "T21",
    "a kernel update changes BBR's outcomes (Linux 4.15 against 5.15)",
    "section 4.5.3, Fig. 4.9b",
    "t21_bbr_versions.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """There is one kernel's BBR here."""
    if not made_here(runs):
        return not_measured(CLAIM, "no two services met")
    return Verdict(
        CLAIM,
        "not testable here",
        "the kernel under test has its own BBR, and the older source that the distribution has, Linux 6.1, "
        "decides the same in every line; what came between 4.15 and 5.15 (aggregation of acknowledgements, "
        "pacing by departure times) is in neither's way to be left out",
    )
