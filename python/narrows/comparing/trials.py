"""Trials: runs in which services met on one link, or one was alone, and what each of them got.

The axis `pair` of a run says who met (`narrows.spec.pairs`). What each got of the link is a number of the run
(`narrows.runs.settled`). Nothing is read from files here.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from narrows.comparing.repetitions import independent
from narrows.metrics.fairness.max_min import max_min_rates
from narrows.runs.capacity import rate_steps, shares_air
from narrows.runs.items import Item, Way, items
from narrows.runs.measure import Measure
from narrows.runs.observed import Observed
from narrows.runs.settled import faults
from narrows.spec.axis import SEED
from narrows.spec.pairs import AND, PAIR

Conditions = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Use:
    service: str
    item: str
    rate_bps: float | None
    loss: float | None
    """Its packets dropped at the bottleneck over those that arrived there, downstream."""
    delay_ms: float | None
    """Median time that its packets stood in the queue."""
    figures: tuple[Measure, ...] = ()
    """How it fares, as it says itself."""


@dataclass(frozen=True)
class Trial:
    run: Observed
    uses: tuple[Use, ...]
    utilisation: float | None

    @property
    def pair(self) -> tuple[str, ...]:
        return tuple(use.service for use in self.uses)

    @property
    def conditions(self) -> Conditions:
        return conditions(self.run)

    def faults(self) -> tuple[str, ...]:
        """Why it does not count; nothing where it does."""
        return faults(self.run)


def trials(runs: Iterable[Observed]) -> list[Trial]:
    """Every good run with an axis `pair`, in a steady order. One that several experiments share counts once
    under each of the labels that they gave it: each may need it under its own conditions. Repetitions that
    are equal count as one."""
    found = {
        (run.run_id, *sorted(run.key.items())): run
        for run in independent(list(runs))[0]
        if run.ok and PAIR in run.key and not run.kernel_config
    }
    return [made for what in sorted(found) if (made := _trial(found[what])) is not None]


def _trial(run: Observed) -> Trial | None:
    services = run.key[PAIR].split(AND)
    met = [item for item in items(run) if not item.is_probe]
    if len(met) != len(services):
        return None
    uses = tuple(_use(name, item) for name, item in zip(services, met, strict=True))
    rates = [use.rate_bps for use in uses if use.rate_bps is not None]
    rate = run.divided_bps("down")
    whole = sum(rates) / rate if len(rates) == len(uses) and rate else None
    return Trial(run, uses, whole)


def _use(service: str, item: Item) -> Use:
    way = item.ways.get("down", Way())
    return Use(service, item.name, way.shared_bps, way.loss, way.queueing_p50_ms, item.fares)


def conditions(run: Observed) -> Conditions:
    """The run's labels but for who met and the repetition."""
    return tuple(sorted((k, v) for k, v in run.key.items() if k not in (PAIR, SEED)))


def demands(every: Sequence[Trial]) -> dict[tuple[Conditions, str], float]:
    """The most that each service takes alone: the median over its valid trials alone, in bit/s."""
    rates = defaultdict(list)
    for trial in every:
        if len(trial.uses) == 1 and not trial.faults() and trial.uses[0].rate_bps is not None:
            rates[trial.conditions, trial.uses[0].service].append(trial.uses[0].rate_bps)
    return {what: float(np.median(known)) for what, known in rates.items()}


def fair_rates(run: Observed, direction: str, wanted: Sequence[float | None]) -> tuple[float | None, ...]:
    """The max-min fair rate of each that shares a direction, by the most that each takes alone in bit/s. None
    of all where one of these is not known, where the link has no rate or one that moves, or where the other
    way takes of it."""
    steps, moving = rate_steps(run.plan, direction), run.plan.moving
    is_one_number = steps and not shares_air(run.plan) and not (moving and getattr(moving, direction))
    known = [demand for demand in wanted if demand is not None]
    if not is_one_number or len(known) < len(wanted):
        return (None,) * len(wanted)
    return max_min_rates(steps[0][1], known)


def share(rate_bps: float | None, fair_bps: float | None) -> float | None:
    """What part of its fair rate one got: 1 is fair, more it took from others."""
    return None if rate_bps is None or not fair_bps else rate_bps / fair_bps


def shares(trial: Trial, alone: Mapping[tuple[Conditions, str], float]) -> tuple[float | None, ...]:
    """What share of its max-min fair rate each service got; None where one of them was never alone."""
    fair = fair_rates(trial.run, "down", [alone.get((trial.conditions, use.service)) for use in trial.uses])
    return tuple(share(use.rate_bps, each) for use, each in zip(trial.uses, fair, strict=True))
