"""A call of a standard: the plans of its scenes, the runs that came of them, and the verdicts.

It makes no run itself: who calls hands in what does (`Make`), as narrows run makes them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np

import narrows.standards
import narrows.store.results as store
from narrows.errors import EngineError, UsageError, did_you_mean
from narrows.judging.verdict import Verdict
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.runs.load import load_one
from narrows.runs.observed import Observed
from narrows.spec.link import Link
from narrows.qdiscs.bfifo import bfifo
from narrows.spec.load import made
from narrows.spec.observe import repeat
from narrows.standards import reads
from narrows.standards.contestant import Contestant
from narrows.standards.suite import AXIS, BASELINES, TRIED, Scene, Suite, Who
from narrows.units import NS_PER_S

Make = Callable[[Sequence[Plan], Path], tuple[Mapping[str, Plan], Mapping[str, str]]]
"""Makes runs into a directory: plans by run id, and by run id why it failed."""
SEEDS, QUICK_SEEDS = 3, 1
FIRST = "grows"
RATE_BPS, GROWN_NS = 20e6, NS_PER_S // 2
"""Of the first run; slow start has sent some hundred packets by then."""


@cache
def suites() -> Mapping[str, Suite]:
    """Every standard by its name: a folder with a `suite.py`."""
    found = {}
    for each in sorted(pkgutil.iter_modules(narrows.standards.__path__), key=lambda one: one.name):
        if each.ispkg:
            suite = importlib.import_module(f"{narrows.standards.__name__}.{each.name}.suite").SUITE
            found[suite.name] = suite
    return found


def suite(name: str) -> Suite:
    """The standard of that name."""
    if name not in suites():
        raise UsageError(f"there is no standard {name}", remedy=did_you_mean(name, suites()))
    return suites()[name]


@dataclass(frozen=True)
class Outcome:
    """What came of a call."""

    suite: Suite
    tried: Contestant
    verdicts: Sequence[Verdict]
    runs: Sequence[Observed]
    failed: Mapping[str, str]
    """By run id: why."""


def plans_of(scenes: Sequence[Scene], tried: Contestant, full: bool, seeds: int) -> list[Plan]:
    """The runs of some scenes, in their order."""
    plans: list[Plan] = []
    for scene in scenes:
        if scene.tcp and tried.stack:
            continue
        experiment = made(scene.name, scene.question, partial(scene.of, tried, full))
        plans += plan_experiment(replace(experiment, repeat=repeat(n=seeds))).plans
    return plans


def _one_flow(who: Who) -> Mapping[str, object]:
    link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=bfifo(limit="1 BDP"))
    return {"link": link, "flow": who.flow(duration="5 s")}


GROWS = Scene(FIRST, "Does it carry a flow, and does its window grow?", _one_flow, alone=True)


def check(tried: Contestant, out: Path, make: Make) -> None:
    """Refuse what carries no flow, before all else: one run of 5 s says what is wrong with it."""
    plans = plans_of([GROWS], tried, False, 1)
    made_runs, failed = make(plans, out)
    for why in failed.values():
        raise EngineError(f"{tried.name} carries no flow: {why}", remedy="one flow at 20 Mbit/s and 40 ms, 5 s")
    (run,) = load(made_runs, out)
    windows = reads.sender(run, "cwnd").within((GROWN_NS, 5 * NS_PER_S)).value
    rate = reads.sent(reads.FLOW, 1, 5)(run) or 0.0
    if windows.size and np.nanmax(windows) <= np.nanmin(windows) and rate < 0.9 * RATE_BPS:
        raise EngineError(
            f"{tried.name} never grows: from 0.5 s on its window is {windows[0]:.3g} packets, which carry "
            f"{rate / 1e6:.3g} of 20 Mbit/s",
            remedy="a window that answers neither acknowledgements nor losses is no congestion control",
        )


def load(plans: Mapping[str, Plan], directory: Path) -> list[Observed]:
    """The good runs of these plans."""
    results = store.open(directory)
    found = (load_one(results, run) for run in plans if run in results.run_ids)
    return [run for run in found if run is not None and run.ok]


def with_baselines(runs: Sequence[Observed], tried: Contestant) -> list[Observed]:
    """Where the contestant is itself a baseline, its runs stand for that too."""
    if tried.kernel_cca not in BASELINES:
        return list(runs)
    own = [run for run in runs if run.key.get(AXIS) == TRIED]
    return [*runs, *(replace(run, key={**run.key, AXIS: tried.cca}) for run in own)]


def judge(of: Suite, tried: Contestant, runs: Sequence[Observed], failed: Mapping[str, str]) -> Outcome:
    """The verdict on each criterion."""
    every = with_baselines(runs, tried)
    return Outcome(of, tried, [criterion(every) for criterion in of.criteria], runs, failed)


def carried_out(
    of: Suite, tried: Contestant, out: Path, make: Make, *, full: bool, seeds: int = 0
) -> Outcome:
    """Make what is missing, and judge."""
    check(tried, out / FIRST / tried.name.replace(" ", "_"), make)
    plans = plans_of(of.scenes, tried, full, seeds or (SEEDS if full else QUICK_SEEDS))
    directory = out / of.name / tried.name.replace(" ", "_")
    made_runs, failed = make(plans, directory)
    return judge(of, tried, load(made_runs, directory), failed)
