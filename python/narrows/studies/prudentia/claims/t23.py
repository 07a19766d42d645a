"""T23: some services are unstable across trials."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.comparing.pair_shares import Summary
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import lengths, most_tried, number, numbers, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

FEWEST = 5
"""Trials of a pair."""
UNSTABLE = 0.2
"""Interquartile range of a service's rates over their median."""

CLAIM = Claim(
    "T23",
    "some services are unstable across trials",
    "section 4.5.5, Fig. 4.10",
    "t23_unstable.py",
    "rates vary",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """How far the rates of a service lie apart over the trials of one pair."""
    every, marks, found, rest = list(runs), {}, [], list[Summary]()
    for rate in ("8Mbit", "50Mbit"):
        spread = {}
        enough = [one for one in most_tried(every, rate) if one.n >= FEWEST]
        rest += enough
        for one in enough:
            for side in one.sides:
                if side.rate_mbps:
                    low, high = np.quantile(side.rates_mbps, [0.25, 0.75])
                    spread[side.service, "+".join(one.pair)] = float(high - low) / side.rate_mbps
        if not spread:
            continue
        worst = max(spread, key=lambda each: spread[each])
        marks[f"{rate}: {worst[0]} in {worst[1]} varies most"] = spread[worst] >= UNSTABLE
        found += [
            number(f"{name}: how much its rates vary (IQR over median)", "1", [value], f"{both} at {rate}")
            for (name, both), value in sorted(spread.items(), key=lambda each: -each[1])[:5]
        ]
    if not marks:
        return not_measured(CLAIM, f"no pair has {FEWEST} valid trials")
    told = f"unstable is an interquartile range of {UNSTABLE:.0%} of the median: {'; '.join(marks)}"
    return Verdict(CLAIM, graded(list(marks.values())), told, numbers(*found), lengths(rest), used(rest))
