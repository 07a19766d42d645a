"""One capture's answer: the path is fitted, run as it was, and where that is met, run with the change.

It runs nothing itself: the caller makes the runs and reads the captures. The same call in the same directory
asks for the same runs, so an interrupted one goes on."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from narrows.errors import StoreError, UsageError
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.spec.load import load
from narrows.whatif import written
from narrows.whatif.check import Distance, distance, why_not
from narrows.whatif.fit import FittedPath, fit
from narrows.whatif.measured import METRICS, Measured, measure, measure_quic
from narrows.whatif.tables import Pair, Read, pair_of
from narrows.whatif.written import CHANGED, WAS, Case, Change

Make = Callable[[list[Plan], Path], tuple[Mapping[str, Plan], Mapping[str, str]]]
"""Makes the runs of some plans in a directory; gives the plans by the runs' ids, and why some of them
failed."""
CCAS = ("cubic", "bbr", "reno")
DRAWS = 12
LEAST_DRAWS = 3
BATCHES, NEARLY = 3, 1.3
"""While fewer draws meet the marks, and the nearest does nearly, as many are drawn again, so often in all."""
HYPOTHESES = 8
NEAR = 2.5
"""A hypothesis further from the capture than this many marks is given up after its first run."""
LOSSY = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where in its interval the share of random losses is tried first: of few losses the seed decides much."""
Z90 = 1.645
FLOOR = 0.02
"""What the ratio of two runs cannot be surer than: seeds, phases."""
UNSEEN = 0.12
"""By how much other people's flows, and losses that no queue explains, come out otherwise: what they are is
fitted from few of them. Chosen on twelve worlds, judged on eleven others (docs/whatif.md)."""


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
        self.capture = measure(self.pair, [(piece.start_s, piece.end_s) for piece in self.path.transfers])
        self.ccas = (was_cca,) if was_cca else CCAS
        self._measured: dict[Path, Measured] = {}
        self._first: dict[Case, Distance] = {}

    def write_fit(self) -> Path:
        """The path as an experiment that a person can edit: OUT/fit.py."""
        written.write_turns(self.path, self.out, None)
        file = self.out / "fit.py"
        file.write_text(written.readable(self.path, Case("was-0", self.path.kinds()[0], self.ccas[0])))
        return file

    def answer(self, change: Change, draws: int = DRAWS, anyway: bool = False) -> Answer:
        """First as it was, then with the change. Raises UsageError for a change that cannot be run."""
        if not self.path.transfers:
            return self._cannot("no transfer is long enough to be run again", None)
        if self.path.rate_bps is None and not anyway:
            return self._cannot(why_not(self.path, Distance({"goodput": np.inf})), None)
        near, best = self._near(change, np.inf if anyway else NEAR)
        if not near:
            return self._cannot(why_not(self.path, best), best)
        if not any(change.changes(case) for case in near):
            return self._cannot(f"what comes out as it did has {change.words()} already", best)
        pairs: list[tuple[Case, Measured, Measured]] = []
        for batch in range(BATCHES):
            pairs += self._paired(_drawn(near, draws, batch), change, batch)
            apart = [distance(was, self.capture) for _, was, _ in pairs]
            met = sum(one.met for one in apart)
            if not pairs or met >= LEAST_DRAWS or min(one.worst for one in apart) > NEARLY:
                break
        if not pairs:
            return self._cannot("no draw could be run with and without the change", best)
        nearest = min(apart, key=lambda one: one.worst)
        for limit in (min(1.0, _as_near(nearest.worst)), 1.0, np.inf if anyway else 1.0):
            kept = tuple(pair for pair, one in zip(pairs, apart, strict=True) if one.worst <= limit)
            if len(kept) >= LEAST_DRAWS:
                break
        cannot = None if met >= LEAST_DRAWS else why_not(self.path, nearest)
        said = kept if not cannot or anyway else ()
        each = [f"completion_s {n + 1}" for n in range(len(self.path.transfers))]
        names = [*METRICS, *(each if len(each) > 1 else ())]
        made = tuple(d for name in names if (d := difference(name, self.capture, said)) is not None)
        return Answer(self.pair.log, self.path, self.capture, kept, nearest, made, cannot, len(pairs))

    def _near(self, change: Change, limit: float) -> tuple[list[Case], Distance]:
        """The kinds that come out as the capture did, or nearly, from one run each, and the nearest distance.
        Then one run with the change: one that the kernel refuses is heard of before all others are made."""
        if not self._first:
            first = self._hypotheses()
            runs, faults = self._run("first", first, Change())
            self._first = {
                case: distance(runs[case.label], self.capture) for case in first if case.label in runs
            }
            if not self._first:
                why = next(iter(faults.values()), "no reason is known")
                raise StoreError(f"no run of the fitted path succeeded: {why}", where=str(self.out / "first"))
        found = self._first
        ranked = sorted(found, key=lambda case: found[case].worst)
        best = found[ranked[0]]
        if best.worst <= limit and change.changes(ranked[0]):
            _, faults = self._run("tried", [_changed(ranked[0], change)], change)
            if faults:
                raise UsageError(f"with {change.words()} no run can be made: {next(iter(faults.values()))}")
        near = [case for case in ranked if found[case].worst <= min(limit, _as_near(best.worst))]
        return list({(case.kind, case.cca): case for case in near}.values())[:HYPOTHESES], best

    def _paired(
        self, several: Sequence[Case], change: Change, batch: int
    ) -> list[tuple[Case, Measured, Measured]]:
        """The draws as they were and changed, where both succeeded."""
        both = {case: _changed(case, change) if change.changes(case) else case for case in several}
        runs, _ = self._run(f"draws{batch or ''}", list(dict.fromkeys([*both, *both.values()])), change)
        return [
            (case, runs[case.label], runs[changed.label])
            for case, changed in both.items()
            if case.label in runs and changed.label in runs
        ]

    def _cannot(self, why: str, nearest: Distance | None) -> Answer:
        return Answer(self.pair.log, self.path, self.capture, (), nearest, (), why, 0)

    def _hypotheses(self) -> list[Case]:
        several = [
            (kind, cca, part)
            for cca in self.ccas
            for kind in self.path.kinds()
            for part in (() if not kind.lossy else LOSSY[1::2] if kind.deep else LOSSY) or (0.5,)
        ]
        return [Case(f"{WAS}-{n}", kind, cca, loss=part) for n, (kind, cca, part) in enumerate(several)]

    def _run(
        self, name: str, several: Sequence[Case], change: Change
    ) -> tuple[dict[str, Measured], dict[str, str]]:
        """What the runs of some cases measured, by label, and why others failed."""
        folder = self.out / name
        folder.mkdir(exist_ok=True)
        written.write_turns(self.path, folder, change)
        file = folder / f"{name}.py"
        file.write_text(written.cases(self.path, several))

        def label(plan: Plan) -> str:
            return plan.key.get("case", several[0].label)

        plans = plan_experiment(load(file)).plans
        of_its_seed = [plan for plan in plans if written.seed_of(label(plan)) == int(plan.key["seed"])]
        made, faults = self.make(of_its_seed, folder / "runs")
        logs = {
            label(plan): folder / "runs" / run / "raw" / "sender.pcapng"
            for run, plan in made.items()
            if run not in faults
        }
        for case in several:
            if case.change is not None and case.change.stack and case.label in logs:
                log = logs[case.label]
                self._measured[log] = measure_quic(log.parent.parent, self.path.transfers)
        if new := [log for log in logs.values() if log not in self._measured]:
            connections, acks = self.read(new, folder / "paths")
            for log in new:
                found = measure(pair_of(log, connections, acks))
                self._measured[log] = replace(found, others_bps=_others(log))
        measured = {case: self._measured[log] for case, log in logs.items()}
        return measured, {label(made[run]): why for run, why in faults.items()}


def _others(log: Path) -> float | None:
    """The goodput of the other flows of the run that a capture is of, in bit/s; None without them."""
    file = log.with_name("others.flows.csv")
    if not file.exists():
        return None
    start_ns, end_ns, acked = pl.read_csv(file).select("start_ns", "end_ns", "bytes_acked").to_numpy().T
    return float(acked.sum() * 8e9 / max(end_ns.max() - start_ns.min(), 1))


def _as_near(best: float) -> float:
    """What is as likely as the nearest: further off than twice that (and some) is another path's doing."""
    return 2.0 * best + 0.15


def _changed(case: Case, change: Change) -> Case:
    return replace(case, label=f"{CHANGED}-{written.seed_of(case.label)}", change=change)


def _drawn(near: Sequence[Case], draws: int, batch: int = 0) -> list[Case]:
    """So many draws from the intervals, the hypotheses in turn; each interval is cut into as many parts as
    there are draws, and each part is met once (Latin hypercube)."""
    draw = random.Random(f"narrows whatif{batch or ''}")
    orders = [draw.sample(range(draws), draws) for _ in range(4)]
    made = []
    for n in range(draws):
        rate, base_rtt, buffer, loss = ((order[n] + 0.5) / draws for order in orders)
        one = near[n % len(near)]
        made.append(Case(f"{WAS}-{batch * draws + n}", one.kind, one.cca, rate, base_rtt, buffer, loss))
    return made


def difference(
    metric: str, capture: Measured, pairs: Sequence[tuple[Case, Measured, Measured]]
) -> Difference | None:
    """The paired difference of one metric. The capture's own value times the median ratio of changed to as it
    was; the interval has the spread of that ratio over the draws, half of how far the runs as they were are
    off, and what is not seen of others and of losses. Of losses, which may be none, it is the difference and
    not the ratio."""
    before = capture.get(metric)
    values = [(was.get(metric), changed.get(metric)) for _, was, changed in pairs]
    known = [(a, b) for a, b in values if a is not None and b is not None]
    if len(known) < 2 or (before is None and metric != "others_bps"):
        return None
    was, changed = (np.array(each, dtype=float) for each in zip(*known, strict=True))
    before = float(np.median(was)) if before is None else before
    if metric == "loss":
        steps = changed - was
        reach = Z90 * float(np.hypot(steps.std(ddof=1), abs(np.median(was) - before) / 2))
        after = max(before + float(np.median(steps)), 0.0)
        return Difference(metric, before, after, max(after - reach, 0.0), after + reach)
    steps = np.log(changed / was)
    off = abs(float(np.median(np.log(was / before))))
    unseen = UNSEEN if any(case.kind.lossy or case.kind.others for case, _, _ in pairs) else FLOOR
    reach = Z90 * float(np.sqrt(steps.std(ddof=1) ** 2 + (off / 2) ** 2 + unseen**2))
    after = before * float(np.exp(np.median(steps)))
    return Difference(metric, before, after, after * float(np.exp(-reach)), after * float(np.exp(reach)))
