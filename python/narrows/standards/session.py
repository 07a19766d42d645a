"""A call of a standard: the plans of its scenes, the runs that came of them, and the verdicts.

It makes no run itself: who calls hands in what does (`Make`), as narrows run makes them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import narrows.standards
import narrows.store.results as store
from narrows.errors import EngineError, UsageError, did_you_mean
from narrows.judging.verdict import Verdict, Word
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.qdiscs.bfifo import bfifo
from narrows.runs.load import load_one
from narrows.runs.observed import Observed
from narrows.spec.load import made
from narrows.spec.observe import repeat
from narrows.standards import reads
from narrows.standards.contestant import Contestant
from narrows.standards.suite import AXIS, BASELINES, TRIED, Criterion, Said, Scene, Suite, one

Make = Callable[[Sequence[Plan], Path], tuple[Mapping[str, Plan], Mapping[str, str]]]
"""Makes runs into a directory: plans by run id, and by run id why it failed."""
SEEDS, QUICK_SEEDS = 3, 1
FIRST = one(
    "grows", "Does it carry a flow, and does its window grow?", 5, rate="20 Mbit/s", base_rtt="40 ms",
    queue=lambda who: who.tried.bottleneck() if who.tried.queue else bfifo(limit="1 BDP"),
)  # fmt: skip
FULL = 0.9 * 20e6
"""A window that stands still and fills the link of that scene may be one that found it."""


@cache
def suites() -> Mapping[str, Suite]:
    """Every standard by its name: a folder with a `suite.py`."""
    folders = sorted(each.name for each in pkgutil.iter_modules(narrows.standards.__path__) if each.ispkg)
    found = [importlib.import_module(f"narrows.standards.{each}.suite").SUITE for each in folders]
    return {suite.name: suite for suite in found}


def suite(name: str) -> Suite:
    """The standard of that name."""
    if name not in suites():
        raise UsageError(f"there is no standard {name}", remedy=did_you_mean(name, suites()))
    return suites()[name]


@dataclass(frozen=True)
class Outcome:
    """What came of a call; `failed`: by run id, why."""

    suite: Suite
    tried: Contestant
    judged: Sequence[tuple[Criterion | Said, Verdict]]
    runs: Sequence[Observed]
    failed: Mapping[str, str]


def planned(of: Suite, tried: Contestant, *, full: bool, seeds: int = 0) -> list[Plan]:
    """The runs of a standard's scenes, in their order."""
    own = (scene for scene in of.scenes if not (scene.tcp and tried.stack))
    return [
        plan
        for scene in own
        for plan in _plans(scene, tried, full, seeds or (SEEDS if full else QUICK_SEEDS))
    ]


def _plans(scene: Scene, tried: Contestant, full: bool, seeds: int) -> Sequence[Plan]:
    experiment = made(scene.name, scene.question, partial(scene.of, tried, full))
    return plan_experiment(replace(experiment, repeat=repeat(n=seeds))).plans


def check(tried: Contestant, out: Path, make: Make) -> None:
    """Refuse what carries no flow, before all else: one run of 5 s says what is wrong with it."""
    runs, failed = make(_plans(FIRST, tried, False, 1), out)
    for why in failed.values():
        raise EngineError(
            f"{tried.name} carries no flow: {why}", remedy="one flow at 20 Mbit/s and 40 ms, 5 s"
        )
    (run,) = load(runs, out)
    least, most = (reads.of_sender("cwnd", reads.quantile(end), 0.5, 5)(run) for end in (0, 1))
    rate = reads.sent(reads.FLOW, 1, 5)(run) or 0.0
    if least is not None and least == most and rate < FULL:
        raise EngineError(
            f"{tried.name} never grows: from 0.5 s on its window is {least:.3g} packets, which carry "
            f"{rate / 1e6:.3g} of 20 Mbit/s",
            remedy="a window that answers neither acknowledgements nor losses is no congestion control",
        )


def load(plans: Mapping[str, Plan], directory: Path) -> list[Observed]:
    """The good runs of these plans."""
    results = store.open(directory)
    found = (load_one(results, run) for run in plans if run in results.run_ids)
    return [run for run in found if run is not None and run.ok]


def judge(
    of: Suite,
    tried: Contestant,
    runs: Sequence[Observed],
    failed: Mapping[str, str],
    plans: Mapping[str, Plan],
) -> Outcome:
    """The verdict on each criterion, which none holds of whose scene runs failed. A contestant that is itself
    a baseline stands for that too."""
    own = (run for run in runs if run.key[AXIS] == TRIED and tried.kernel_cca in BASELINES)
    every = [*runs, *(replace(run, key={**run.key, AXIS: tried.cca}) for run in own)]
    lost = Counter(plans[run].experiment for run in failed)
    judged = [(criterion, _weaker(criterion(every), lost)) for criterion in of.criteria]
    return Outcome(of, tried, judged, runs, failed)


def _weaker(verdict: Verdict, lost: Mapping[str, int]) -> Verdict:
    number = lost.get(verdict.claim.experiment, 0)
    word: Word = "holds in part" if number and verdict.verdict == "holds" else verdict.verdict
    reason = f"{verdict.reason}; {number} of its runs failed" if number else verdict.reason
    return replace(verdict, verdict=word, reason=reason)


def carried_out(
    of: Suite, tried: Contestant, out: Path, make: Make, *, full: bool, seeds: int = 0
) -> Outcome:
    """Make what is missing, and judge."""
    plans = planned(of, tried, full=full, seeds=seeds)
    check(tried, out / FIRST.name / tried.folder, make)
    directory = out / of.name / tried.folder
    runs, failed = make(plans, directory)
    return judge(of, tried, load(runs, directory), failed, runs)
