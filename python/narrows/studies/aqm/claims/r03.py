"""R3: with burst shaping and no cross traffic, throughput is close to the configured rate for every AQM."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import by, usable, utilisations, where
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, median_of, not_measured

MIN_UTILISATION = 0.95  # of the payload rate that the shaper allows, median of each condition
PAPER_BURSTS = ("text", "listing")
PARTS = ("ceil_only", "burst_only")

CLAIM = Claim(
    "R3",
    "With burst shaping and no cross traffic, throughput is close to the configured rate for every AQM",
    "Figure 3",
    "r03_full_use_with_burst.py",
    decided_by=r"burst (text|listing)",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Median utilisation of each condition, with exact timers and with late ones."""
    good = usable(runs)
    chosen = where(good, burst=PAPER_BURSTS, cross=("no",), exact_timers=None)
    numbers: list[Number] = []
    passed: list[bool] = []
    failed: list[str] = []
    for (timer, burst, rate, queue), same in by(chosen, "timer", "burst", "rate_mbps", "queue").items():
        for direction in ("down", "up"):
            words = f"{rate:g} Mbit/s, {queue}, burst {burst}, timers {timer}, {direction}"
            number = median_of("utilisation", "1", utilisations(same, direction), words)
            if number is None:
                continue
            numbers.append(number)
            passed.append(number.value >= MIN_UTILISATION)
            if not passed[-1]:
                failed.append(f"{words} ({number.value:.3f})")
    if not passed:
        return not_measured(CLAIM, "no run with burst shaping and without cross traffic")
    parts = where(good, burst=(*PARTS, "off"), cross=("no",), exact_timers=False)
    of_parts = _of_parts(parts)
    reason = (
        f"{sum(passed)} of {len(passed)} conditions use at least {MIN_UTILISATION:.0%} of what is possible"
    )
    if failed:
        reason += f"; not: {'; '.join(failed)}"
    lowest = sorted(numbers, key=lambda n: n.value)[:4]
    return Verdict(
        CLAIM,
        graded(passed),
        reason,
        (*lowest, *of_parts),
        "burst shaping, no cross traffic",
        ids([*chosen, *parts]),
        "; ".join(map(str, of_parts)),
    )


def _of_parts(parts: list[Observed]) -> list[Number]:
    """What ceil does alone, and the bucket alone."""
    numbers = []
    for (timer, burst, rate), same in by(parts, "timer", "burst", "rate_mbps").items():
        words = f"{rate:g} Mbit/s, burst {burst}, timers {timer}, down, all qdiscs"
        number = median_of("utilisation", "1", utilisations(same, "down"), words)
        if number is not None:
            numbers.append(number)
    return numbers
