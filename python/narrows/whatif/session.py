"""One capture's answer: the path is fitted, run as it was, and where that is met, run with the change.

It runs nothing itself: the caller makes the runs and reads the captures. The same call in the same directory
asks for the same runs, so an interrupted one goes on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from narrows.errors import StoreError
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.spec.load import load
from narrows.whatif import written
from narrows.whatif.check import Distance, distance, why_not
from narrows.whatif.fit import FittedPath, fit
from narrows.whatif.measured import METRICS, Measured, measure
from narrows.whatif.tables import Pair, Read, pair_of
from narrows.whatif.written import CHANGED, WAS, Case, Change

Make = Callable[[list[Plan], Path], Mapping[str, Plan]]
"""Makes the runs of some plans in a directory; gives the plans by the runs' ids."""
CCAS = ("cubic", "bbr", "reno")
DRAWS = 12
LEAST_DRAWS = 3
HYPOTHESES = 4
NEAR = 2.5
"""A hypothesis further from the capture than this many marks is given up after its first run."""
LOSSY = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where in its interval the share of random losses is tried first: of few losses the seed decides much."""
Z90 = 1.645
FLOOR = 0.02
"""What the ratio of two runs cannot be surer than: seeds, phases."""


@dataclass(frozen=True)
class Difference:
    """One metric: what the capture has, what it would be with the change, and the 90 % interval of that."""

    metric: str
    before: float
    after: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """False where the interval holds what was before."""
        return not self.low <= self.before <= self.high


@dataclass(frozen=True)
class Answer:
    """Of one capture. `cannot` is the reason where it cannot answer; then there are differences only if asked
    for."""

    log: str
    path: FittedPath
    capture: Measured
    kept: tuple[tuple[Case, Measured, Measured], ...]
    """The draws that met the capture: as it was, and changed."""
    nearest: Distance | None
    differences: tuple[Difference, ...]
    cannot: str | None
    draws: int


class Session:
    """The runs and readings of one capture, in one directory."""

    def __init__(self, log: Path, out: Path, read: Read, make: Make, was_cca: str | None = None) -> None:
        self.out, self.read, self.make = out, read, make
        out.mkdir(parents=True, exist_ok=True)
        self.pair: Pair = pair_of(log, *read([log], out / "capture"))
        self.path = fit(self.pair)
        self.capture = measure(self.pair)
        self.ccas = (was_cca,) if was_cca else CCAS

    def write_fit(self) -> Path:
        """The path as an experiment that a person can edit: OUT/fit.py."""
        written.write_rates(self.path, self.out, None)
        file = self.out / "fit.py"
        file.write_text(written.readable(self.path, Case("was-0", self.path.kinds()[0], self.ccas[0])))
        return file

    def answer(self, change: Change, draws: int = DRAWS, anyway: bool = False) -> Answer:
        """First as it was, then with the change."""
        if not self.path.transfers:
            return self._cannot("no transfer is long enough to be run again", None)
        if self.path.rate_bps is None and not anyway:
            return self._cannot(why_not(self.path, Distance({"goodput": np.inf})), None)
        first = self._hypotheses()
        runs = self._run("first", first)
        found = {case.label: distance(runs[case.label], self.capture) for case in first if case.label in runs}
        if not found:
            raise StoreError("no run of the fitted path succeeded", where=str(self.out / "first"))
        ranked = sorted((case for case in first if case.label in found), key=lambda c: found[c.label].worst)
        best = found[ranked[0].label]
        if best.worst > NEAR and not anyway:
            return self._cannot(why_not(self.path, best), best)
        limit = np.inf if anyway else NEAR
        near = [case for case in ranked if found[case.label].worst <= min(limit, _as_near(best.worst))]
        near = list({(case.kind, case.cca): case for case in near}.values())[:HYPOTHESES]
        several = _drawn(near, draws)
        both = [*several, *(_changed(case, change) for case in several if change.changes(case))]
        runs = self._run("draws", both, change)
        labels = {
            case: _changed(case, change).label if change.changes(case) else case.label for case in several
        }
        pairs = [
            (case, runs[case.label], runs[label])
            for case, label in labels.items()
            if case.label in runs and label in runs
        ]
        apart = {case.label: distance(was, self.capture) for case, was, _ in pairs}
        if not pairs:
            return self._cannot("the change could not be run", best)
        nearest = min(apart.values(), key=lambda one: one.worst)
        met = tuple(each for each in pairs if apart[each[0].label].met)
        kept = tuple(each for each in met if apart[each[0].label].worst <= _as_near(nearest.worst))
        kept = kept if len(kept) >= LEAST_DRAWS else met
        cannot = None if len(kept) >= LEAST_DRAWS else why_not(self.path, nearest)
        if cannot and not anyway:
            return Answer(self.pair.log, self.path, self.capture, kept, nearest, (), cannot, len(pairs))
        used = kept if len(kept) >= LEAST_DRAWS else tuple(pairs)
        made = tuple(d for name in METRICS if (d := difference(name, self.capture, used)) is not None)
        return Answer(self.pair.log, self.path, self.capture, used, nearest, made, cannot, len(pairs))

    def _cannot(self, why: str, nearest: Distance | None) -> Answer:
        return Answer(self.pair.log, self.path, self.capture, (), nearest, (), why, 0)

    def _hypotheses(self) -> list[Case]:
        several = [
            (kind, cca, part)
            for cca in self.ccas
            for kind in self.path.kinds()
            for part in (LOSSY if kind.lossy else (0.5,))
        ]
        return [Case(f"{WAS}-{n}", kind, cca, loss=part) for n, (kind, cca, part) in enumerate(several)]

    def _run(self, name: str, several: Sequence[Case], change: Change | None = None) -> dict[str, Measured]:
        """What the runs of some cases measured, by label; those that failed are missing."""
        folder = self.out / name
        folder.mkdir(exist_ok=True)
        written.write_rates(self.path, folder, change)
        file = folder / f"{name}.py"
        file.write_text(written.cases(self.path, several))
        plans = [
            plan
            for plan in plan_experiment(load(file)).plans
            if written.seed_of(plan.key.get("case", several[0].label)) == int(plan.key["seed"])
        ]
        made = self.make(plans, folder / "runs")
        logs = {
            plan.key.get("case", several[0].label): folder / "runs" / run / "raw" / "sender.pcapng"
            for run, plan in made.items()
        }
        logs = {label: log for label, log in logs.items() if log.exists()}
        if not logs:
            return {}
        connections, acks = self.read(list(logs.values()), folder / "paths")
        return {label: measure(pair_of(log, connections, acks)) for label, log in logs.items()}


def _as_near(best: float) -> float:
    """What is as likely as the nearest: further off than twice that (and some) is another path's doing."""
    return 2.0 * best + 0.15


def _changed(case: Case, change: Change) -> Case:
    return replace(case, label=f"{CHANGED}-{written.seed_of(case.label)}", change=change)


def _drawn(near: Sequence[Case], draws: int) -> list[Case]:
    """So many draws from the intervals, the hypotheses in turn; each interval is cut into as many parts as
    there are draws, and each part is met once (Latin hypercube)."""
    draw = random.Random("narrows whatif")
    orders = [draw.sample(range(draws), draws) for _ in range(4)]
    made = []
    for n in range(draws):
        rate, base_rtt, buffer, loss = ((order[n] + 0.5) / draws for order in orders)
        one = near[n % len(near)]
        made.append(Case(f"{WAS}-{n}", one.kind, one.cca, rate, base_rtt, buffer, loss))
    return made


def difference(
    metric: str, capture: Measured, pairs: Sequence[tuple[Case, Measured, Measured]]
) -> Difference | None:
    """The paired difference of one metric. The capture's own value times the median ratio of changed to as it
    was; the interval has the spread of that ratio over the draws and half of how far the runs as they were
    are off. Of losses, which may be none, it is the difference and not the ratio."""
    before = getattr(capture, metric)
    values = [(getattr(was, metric), getattr(changed, metric)) for _, was, changed in pairs]
    known = [(a, b) for a, b in values if a is not None and b is not None]
    if before is None or len(known) < 2:
        return None
    was, changed = (np.array(each, dtype=float) for each in zip(*known, strict=True))
    if metric == "loss":
        steps = changed - was
        reach = Z90 * float(np.hypot(steps.std(ddof=1), abs(np.median(was) - before) / 2))
        after = max(before + float(np.median(steps)), 0.0)
        return Difference(metric, before, after, max(after - reach, 0.0), after + reach)
    steps = np.log(changed / was)
    off = abs(float(np.median(np.log(was / before))))
    reach = Z90 * float(np.sqrt(steps.std(ddof=1) ** 2 + (off / 2) ** 2 + FLOOR**2))
    after = before * float(np.exp(np.median(steps)))
    return Difference(metric, before, after, after * float(np.exp(-reach)), after * float(np.exp(reach)))
