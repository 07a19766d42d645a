"""R11: averages hide it: two conditions with similar means differ in tails, spikes and glitches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.tail import pooled_quantile
from narrows.runs.observed import Observed
from narrows.studies.aqm.claims.evidence import (
    by,
    glitch_rates,
    rates_mbps,
    tails,
    usable,
    variations,
    where,
)
from narrows.judging.verdict import Claim, Number, Verdict, ids, not_measured

SAME_MEAN = 0.05  # means of throughput within 5 % of each other
DIFFERENT_TAIL = 2  # p99 of the probe's RTT, or the variation of throughput, differs by this factor
MIN_REPETITIONS = 3
EXAMPLES = 2
MIN_PAIRS = 6  # fewer cannot show that there is no such pair

CLAIM = Claim(
    "R11",
    "Averages hide it: two conditions with similar means differ in tails, spikes and glitches",
    "sections 1, 4.2 and 5",
    "r11_averages_hide_tails.py",
    decided_by=r"pairs|p99|glitches|variation",
)


@dataclass(frozen=True)
class _Condition:
    words: str
    runs: tuple[Observed, ...]
    mean: float
    tails: dict[str, float]  # name → value, each with its unit in the name


def judge(runs: Iterable[Observed]) -> Verdict:
    """Pairs of conditions of one rate and direction whose mean throughput agrees within SAME_MEAN."""
    chosen = where(usable(runs))
    pairs = 0
    differing: dict[str, list[tuple[float, _Condition, _Condition]]] = {}
    for direction in ("down", "up"):
        for (rate,), some in by(chosen, "rate_mbps").items():
            found = _conditions(some, f"{rate:g} Mbit/s", direction)
            for a, b in itertools.combinations(found, 2):
                if abs(a.mean - b.mean) > SAME_MEAN * max(a.mean, b.mean):
                    continue
                pairs += 1
                for name in a.tails.keys() & b.tails.keys():
                    low, high = sorted((a.tails[name], b.tails[name]))
                    ratio = high / low if low > 0 else (np.inf if high > 0 else 1.0)
                    if ratio >= DIFFERENT_TAIL:
                        differing.setdefault(name, []).append((float(ratio), a, b))
    if pairs == 0 or (pairs < MIN_PAIRS and not differing):
        return not_measured(
            CLAIM, f"only {pairs} pairs of conditions with the same mean (n ≥ {MIN_REPETITIONS})"
        )
    numbers, used = _examples(differing)
    counts = "; ".join(f"{name}: {len(found)}" for name, found in sorted(differing.items())) or "none"
    numbers.insert(
        0, Number("pairs of conditions with the same mean", "pairs", pairs, len(chosen), "all, exact timers")
    )
    return Verdict(
        CLAIM,
        "holds" if differing else "does not hold here",
        f"of {pairs} pairs with means within {SAME_MEAN:.0%}, these differ {DIFFERENT_TAIL}-fold: {counts}",
        tuple(numbers),
        "pairs of one rate and direction",
        ids(used or chosen),
    )


def _conditions(runs: list[Observed], rate: str, direction: str) -> list[_Condition]:
    conditions = []
    for (burst, cross, queue), same in by(runs, "burst", "cross", "queue").items():
        rates = rates_mbps(same, direction)
        if rates.size < MIN_REPETITIONS:
            continue
        told = {}
        p99 = pooled_quantile(tails(same, "probe_rtt_ms", direction), 0.99)
        if p99 is not None:
            told["p99 of the probe's RTT [ms]"] = p99
        steady = variations(same, direction)
        if steady.size:
            told["variation of throughput [1]"] = float(np.median(steady))
        spikes = glitch_rates(same, direction)
        if spikes.size:
            told["glitches [1/min]"] = float(np.mean(spikes))
        words = f"{rate}, {queue}, burst {burst}, cross {cross}, {direction}load"
        conditions.append(_Condition(words, tuple(same), float(np.mean(rates)), told))
    return conditions


def _examples(
    differing: dict[str, list[tuple[float, _Condition, _Condition]]],
) -> tuple[list[Number], list[Observed]]:
    numbers: list[Number] = []
    used: list[Observed] = []
    for name, found in sorted(differing.items()):
        quantity, unit = name.rsplit(" [", 1)
        for _, a, b in sorted(found, key=lambda x: (-x[0], x[1].words))[:EXAMPLES]:
            for c in (a, b):
                numbers.append(Number("mean throughput", "Mbit/s", c.mean, len(c.runs), c.words))
                numbers.append(Number(quantity, unit.rstrip("]"), c.tails[name], len(c.runs), c.words))
                used += c.runs
    return numbers, used
