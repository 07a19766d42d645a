"""T18: services of several flows lose most packets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.comparing.pair_shares import Summary
from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import lengths, number, numbers, of_ten, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

SEVERAL = ("batches", "five", "hls", "shaka")
SINGLE_BBR = ("bbr", "download")
NEARLY_NOTHING = 0.001

CLAIM = Claim(
    "T18",
    "services of several flows lose most (the batched download 8 %, the video over four 4 %, most at most "
    "1 %); pairs of single BBR flows lose nothing",
    "section 4.4.2",
    "t18_losses.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The loss of each service over its pairs, at both rates."""
    every, marks, found, rest = list(runs), {}, [], list[Summary]()
    for rate in ("8Mbit", "50Mbit"):
        here = [one for one in of_ten(every, rate) if len(one.pair) == 2]
        lost: dict[str, list[float]] = {}
        for one in here:
            for side in one.sides:
                if side.loss is not None:
                    lost.setdefault(side.service, []).append(side.loss)
        several = [v for name in SEVERAL for v in lost.get(name, [])]
        single = [v for name, values in lost.items() if name not in SEVERAL for v in values]
        if not several or not single:
            continue
        rest += here
        marks[f"{rate}: several lose more than single"] = bool(np.median(several) > np.median(single))
        both = [
            side.loss
            for one in here
            if set(one.pair) <= set(SINGLE_BBR)
            for side in one.sides
            if side.loss is not None
        ]
        if both:
            marks[f"{rate}: pairs of single BBR flows lose nothing"] = max(both) <= NEARLY_NOTHING
        found += [number(f"loss of {name}", "1", values, f"pairs at {rate}") for name, values in lost.items()]
    if not marks:
        return not_measured(CLAIM, "no service of several flows met one of a single flow")
    told = "; ".join(f"{name}: {'so' if mark else 'not so'}" for name, mark in marks.items())
    return Verdict(CLAIM, graded(list(marks.values())), told, numbers(*found), lengths(rest), used(rest))
