"""T10: the most and the least contentious service use variants of the same CCA."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import left_to_rivals, lengths, met, number, numbers, of_ten, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

BBR = ("bbr", "download", "batches", "dash", "hls", "five")
FEWEST = 3
"""Rivals that a service must have met."""

CLAIM = Claim(
    "T10",
    "the most and the least contentious service use variants of the same CCA: rivals of the batched download "
    "get 63 % on average at 50 Mbit/s, below half at 8; rivals of the video over BBR 117 %",
    "section 4.2.1, Fig. 4.2",
    "t10_contentious.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Rivals' mean share beside each service, at both rates."""
    every, marks, found, rest = list(runs), {}, [], []
    for rate in ("8Mbit", "50Mbit"):
        here = of_ten(every, rate)
        names = {name for one in met(here) for name in one.pair}
        left = {name: got for name in names if len(got := left_to_rivals(here, name)) >= FEWEST}
        if len(left) < 2:
            continue
        rest += met(here)
        means = {name: float(np.mean(got)) for name, got in left.items()}
        most, least = min(means, key=lambda n: means[n]), max(means, key=lambda n: means[n])
        told = f"{rate}: most {most} ({means[most]:.0%}), least {least} ({means[least]:.0%})"
        marks[told] = most in BBR and least in BBR
        found += [
            number(f"share left by {name}", "1", left[name], f"rivals at {rate}") for name in (most, least)
        ]
    if not marks:
        return not_measured(CLAIM, f"no service met {FEWEST} others")
    reason = f"holds where both are over BBR: {'; '.join(marks)}"
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*found), lengths(rest), used(rest))
