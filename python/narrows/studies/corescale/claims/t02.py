"""T2: the Mathis model predicts flows well on halvings everywhere, and badly on losses at Core."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.judging.verdict import Claim, Verdict, not_measured
from narrows.runs.observed import Observed
from narrows.studies.corescale.claims.many import (
    by_scale,
    cases,
    medians,
    of_scale,
    scaled_verdict,
)
from narrows.studies.corescale.claims.t01 import MIN_FLOWS

MAX_GOOD_ERROR = 0.10
MIN_BAD_ERROR = 0.45

CLAIM = Claim(
    "T2",
    "Median prediction error at Core at most 10 % on halvings, 45 to 55 % on loss; both below 10 % at Edge",
    "Figure 3.2",
    "t02_mathis_error.py",
    {"quantity": ("error on losses", "error on halvings")},
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The median error of each condition, of C fitted to the same flows."""
    chosen = cases(runs, lambda case: case.ccas == ("reno",) and case.flows >= MIN_FLOWS)
    losses = medians(
        "error on losses",
        "1",
        chosen,
        lambda m: m.mathis_on_losses.median_error if m.mathis_on_losses else None,
    )
    halvings = medians(
        "error on halvings",
        "1",
        chosen,
        lambda m: m.mathis_on_halvings.median_error if m.mathis_on_halvings else None,
    )
    if not losses or not halvings:
        return not_measured(CLAIM, f"no condition of {MIN_FLOWS} or more NewReno flows")
    parts = [value <= MAX_GOOD_ERROR for value in of_scale(halvings, "core") + of_scale(halvings, "edge")]
    parts += [value <= MAX_GOOD_ERROR for value in of_scale(losses, "edge")]
    parts += [value >= MIN_BAD_ERROR for value in of_scale(losses, "core")]
    scales = by_scale(chosen, {"on losses": losses, "on halvings": halvings})
    return scaled_verdict(CLAIM, chosen, parts, "; ".join(scales), (*losses.values(), *halvings.values()))
