"""T9: unfair outcomes are common."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import lengths, losers, met, number, numbers, of_ten, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

COMMON = 0.5
"""Common: at least so many of the losers get 90 % or less."""

CLAIM = Claim(
    "T9",
    "unfair outcomes are common: the median loser gets 69 % of its share at 8 Mbit/s (73 % of losers at most "
    "90 %, 22 % at most half) and 86 % at 50; a service against itself 88 % on average",
    "section 4.2, Fig. 4.2",
    "t09_all_pairs.py",
    "loser's share",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The smaller share of each pair, at both rates."""
    every, marks, found, rest = list(runs), {}, [], []
    for rate in ("8Mbit", "50Mbit"):
        here = of_ten(every, rate)
        lost = losers(here)
        if not lost:
            continue
        rest += met(here)
        unfair = float(np.mean(np.array(lost) <= 0.9))
        marks[f"{rate}: {unfair:.0%} of losers get at most 90 %"] = unfair >= COMMON
        half = float(np.mean(np.array(lost) <= 0.5))
        same = [min(s.share or 0.0 for s in one.sides) for one in met(here) if one.pair[0] == one.pair[1]]
        found += [
            number("loser's share", "1", lost, f"pairs at {rate}, {half:.0%} of them at most half"),
            number("smaller share of a service against itself", "1", same, f"at {rate}"),
        ]
    if not marks:
        return not_measured(CLAIM, "no two services met that were alone too")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"common is {COMMON:.0%} of losers with at most 90 %: {'; '.join(marks)}",
        numbers(*found),
        lengths(rest),
        used(rest),
    )
