"""T4: NewReno flows, and CUBIC flows, stay fair among themselves at Core."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.judging.verdict import Claim, Verdict, not_measured
from narrows.runs.observed import Observed
from narrows.studies.corescale.claims.many import (
    cases,
    medians,
    of_scale,
    scaled_verdict,
    spread,
)

MIN_JAIN = 0.99
LOSS_BASED = (("reno",), ("cubic",))

CLAIM = Claim(
    "T4",
    "NewReno and CUBIC stay fair at Core, Jain's index above 0.99",
    "section 3.5.1",
    "t04_loss_based_are_fair.py",
    {"quantity": "Jain's index"},
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Jain's index of each condition of one loss-based CCA and one base RTT."""
    chosen = cases(runs, lambda case: case.ccas in LOSS_BASED)
    found = medians("Jain's index", "1", chosen, lambda m: m.jain)
    if not found:
        return not_measured(CLAIM, "no condition of NewReno or CUBIC flows alone")
    parts: list[bool] = []
    words = []
    for cca in ("reno", "cubic"):
        own = {case: number for case, number in found.items() if case.ccas == (cca,)}
        parts += [number.value > MIN_JAIN for number in own.values()]
        words += [
            f"{cca} at {scale} {spread(of_scale(own, scale))}"
            for scale in dict.fromkeys(case.scale for case in own)
        ]
    reason = f"Jain's index: {'; '.join(words)}"
    return scaled_verdict(CLAIM, chosen, parts, reason, found.values(), needed=("core",))
