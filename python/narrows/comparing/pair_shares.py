"""What came of all trials of each pair: medians over the valid ones, with intervals.

Trials of one pair have the same conditions and another seed. A trial that is not valid does not count.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from narrows.comparing.trials import Conditions, Trial, Use, demands, fair_rates, share
from narrows.metrics.statistics.arrays import Floats, clean
from narrows.metrics.statistics.interval import quantile_interval
from narrows.runs.measure import Measure


@dataclass(frozen=True)
class Side:
    """One service of a pair. None where it was not measured; of the interval also where trials are few."""

    service: str
    rate_mbps: float | None
    low_mbps: float | None
    high_mbps: float | None
    fair_mbps: float | None
    share: float | None
    loss: float | None
    delay_ms: float | None
    rates_mbps: tuple[float, ...]
    """The rate in each valid trial."""
    own: Mapping[str, Measure] = field(default_factory=dict)
    """How it fares, as it says itself, by the quantity: the median over the valid trials that have it."""


@dataclass(frozen=True)
class Summary:
    """A pair, or one service alone, under one set of conditions."""

    conditions: Conditions
    pair: tuple[str, ...]
    sides: tuple[Side, ...]
    utilisation: float | None
    n: int
    """Valid trials."""
    run_ids: tuple[str, ...]

    @property
    def width_mbps(self) -> float | None:
        """How far the interval of either rate reaches from its median, the larger one; None without one."""
        found = [
            max(side.high_mbps - side.rate_mbps, side.rate_mbps - side.low_mbps)
            for side in self.sides
            if side.rate_mbps is not None and side.low_mbps is not None and side.high_mbps is not None
        ]
        return max(found) if len(found) == len(self.sides) else None


def summaries(every: Iterable[Trial]) -> list[Summary]:
    """Each pair under each set of conditions, those alone first."""
    known = list(every)
    alone = demands(known)
    groups: dict[tuple[Conditions, tuple[str, ...]], list[Trial]] = defaultdict(list)
    for trial in known:
        groups[trial.conditions, trial.pair].append(trial)
    ordered = sorted(groups.items(), key=lambda each: (each[0][0], len(each[0][1]), each[0][1]))
    return [_summary(conditions, pair, members, alone) for (conditions, pair), members in ordered]


def _summary(
    conditions: Conditions,
    pair: tuple[str, ...],
    members: Sequence[Trial],
    alone: dict[tuple[Conditions, str], float],
) -> Summary:
    valid = [trial for trial in members if not trial.faults()]
    fair = fair_rates(members[0].run, "down", [alone.get((conditions, name)) for name in pair])
    sides = tuple(_side(name, [trial.uses[n] for trial in valid], fair[n]) for n, name in enumerate(pair))
    used = clean([trial.utilisation for trial in valid])
    ids = tuple(sorted(trial.run.run_id for trial in valid))
    return Summary(conditions, pair, sides, float(np.median(used)) if used.size else None, len(valid), ids)


def _side(name: str, uses: Sequence[Use], fair_bps: float | None) -> Side:
    rates = clean([use.rate_bps for use in uses]) / 1e6
    interval = quantile_interval(rates) if rates.size else None
    middle = float(np.median(rates)) if rates.size else None
    return Side(
        service=name,
        rate_mbps=middle,
        low_mbps=interval.low if interval else None,
        high_mbps=interval.high if interval else None,
        fair_mbps=None if fair_bps is None else fair_bps / 1e6,
        share=share(None if middle is None else middle * 1e6, fair_bps),
        loss=_median(uses, lambda use: use.loss),
        delay_ms=_median(uses, lambda use: use.delay_ms),
        rates_mbps=tuple(float(rate) for rate in rates),
        own=_own(uses),
    )


def _own(uses: Sequence[Use]) -> dict[str, Measure]:
    values: dict[str, list[Measure]] = defaultdict(list)
    for use in uses:
        for figure in use.figures:
            if figure.direction in (None, "down"):
                values[figure.quantity].append(figure)
    medians = {name: float(np.median([one.value for one in some])) for name, some in values.items()}
    return {name: replace(some[0], value=medians[name], n=len(some)) for name, some in values.items()}


def _median(uses: Sequence[Use], of: Callable[[Use], float | None]) -> float | None:
    known: Floats = clean([of(use) for use in uses])
    return float(np.median(known)) if known.size else None
