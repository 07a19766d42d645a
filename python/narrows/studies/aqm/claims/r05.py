"""R5: with burst shaping and CUBIC cross traffic, throughput drops and varies far more."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import by, rates_mbps
from narrows.studies.aqm.claims.under_cross import loaded_and_calm, verdict
from narrows.judging.verdict import (
    Claim,
    Number,
    Verdict,
    median_of,
    not_measured,
    std_of,
    yes_of,
)

MAX_SHARE_OF_UNLOADED = 0.8  # throughput drops: median under cross traffic over median without
MIN_STD_RATIO = 10  # varies far more: the paper's is 138 / 1.51 = 91
STD_FLOOR_MBPS = 0.1  # a repetition-free standard deviation of 0 would make any ratio infinite
MIN_REPETITIONS = 3

CLAIM = Claim(
    "R5",
    "With burst shaping and CUBIC cross traffic, throughput drops and varies far more: FQ-CoDel at 900 "
    "Mbit/s has a standard deviation of 138 Mbit/s, against 1.51 without both",
    "Figure 5",
    "r05_throughput_under_cross_traffic.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """In the direction of the cross flow, per qdisc: lower median, and a far larger deviation over
    repetitions."""
    loaded, calm = loaded_and_calm(runs, "off")
    numbers: list[Number] = []
    dropped: dict[str, bool] = {}
    varied: dict[str, bool] = {}
    for (burst, cross, queue), same in by(loaded, "burst", "cross", "queue").items():
        base = by(calm, "queue").get((queue,), [])
        direction = str(cross)
        now, before = rates_mbps(same, direction), rates_mbps(base, direction)
        if min(now.size, before.size) < MIN_REPETITIONS:
            continue
        words = f"900 Mbit/s, {queue}, {direction}load"
        with_both = f"{words}, burst {burst}, cross {cross}"
        of_condition = (
            median_of("throughput", "Mbit/s", now, with_both),
            median_of("throughput", "Mbit/s", before, f"{words}, without both"),
            std_of("std over repetitions", "Mbit/s", now, with_both),
            std_of("std over repetitions", "Mbit/s", before, f"{words}, without both"),
        )
        numbers += [n for n in of_condition if n is not None]
        name = f"{queue} ({burst}, cross {cross})"
        dropped[name] = bool(np.median(now) <= MAX_SHARE_OF_UNLOADED * np.median(before))
        ratio = float(np.std(now, ddof=1)) / max(float(np.std(before, ddof=1)), STD_FLOOR_MBPS)
        varied[name] = ratio >= MIN_STD_RATIO
    if not dropped:
        return not_measured(
            CLAIM,
            f"fewer than {MIN_REPETITIONS} repetitions at 900 Mbit/s with and without burst and cross "
            f"traffic",
        )
    reason = (
        f"throughput drops to {MAX_SHARE_OF_UNLOADED:.0%} or less for {yes_of(dropped)}; its deviation grows "
        f"at least {MIN_STD_RATIO}-fold for {yes_of(varied)}"
    )
    return verdict(CLAIM, (dropped, varied), reason, numbers, [*loaded, *calm], _cause(loaded))


def _cause(loaded: list[Observed]) -> str:
    """How far downloads and uploads of FQ-CoDel vary when they are pooled, as the paper may have done."""
    pooled = []
    for (cross, queue), same in by(loaded, "cross", "queue").items():
        both = np.concatenate([rates_mbps(same, "down"), rates_mbps(same, "up")])
        number = std_of("std of downloads and uploads pooled", "Mbit/s", both, f"{queue}, cross {cross}")
        if number is not None and queue == "fq_codel":
            pooled.append(str(number))
    return "; ".join(pooled)
