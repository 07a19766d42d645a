"""What the captures of runs say by `narrows paths`, beside what the runs know. Nothing is judged here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.metrics.statistics.arrays import clean
from narrows.paths.of_runs import Row, with_logs
from narrows.runs.observed import Observed
from narrows.judging.verdict import Number, median_of

EXPERIMENT = "n1_conditions"
POLICERS = "n11_policers"
PLACES = {"server": "sender", "router": "bottleneck", "client": "receiver"}
SENDER = "sender"


@dataclass(frozen=True)
class Seen:
    """One capture of one run: where it was taken, what it says, and the truth (`true_…`)."""

    run: Observed
    place: str
    row: Row

    @property
    def path(self) -> str:
        return f"{self.run.key['path']}, {self.run.key['base_rtt']}"

    def value(self, name: str) -> Any:
        """A column of `narrows.paths.of_runs`; None: not known."""
        return self.row.get(name)


Estimate = Callable[[Seen], float | None]
"""Of one capture: a value that was measured, the true one, or an error."""

_READ: dict[tuple[str, str], Sequence[Row]] = {}
"""What was read of runs whose captures are here: every claim asks for the same."""


def seen(runs: Iterable[Observed], experiment: str = EXPERIMENT) -> list[Seen]:
    """Every capture of the good runs of one of the study's experiments, run by run."""
    mine = {
        run.run_id: run for run in runs if run.ok and run.experiment == experiment and not run.kernel_config
    }
    unread = [run for run in mine.values() if run.path_logs is None and _key(run) not in _READ]
    for run in with_logs(unread):
        _READ[_key(run)] = run.path_logs or ()
    found = []
    for _, run in sorted(mine.items()):
        for row in _READ.get(_key(run), ()) if run.path_logs is None else run.path_logs:
            node = str(row["captured_at"]).partition(":")[0]
            found.append(Seen(run, PLACES.get(node, node), row))
    return found


def _key(run: Observed) -> tuple[str, str]:
    return run.run_id, str(run.folder)


def ratio(value: float | None, true: float | None) -> float | None:
    """How far a value is from the true one, relative to it."""
    return None if value is None or not true else value / true - 1


def relative(name: str, true: str) -> Estimate:
    """The relative error of one column against another."""
    return lambda one: ratio(one.value(name), one.value(true))


def errors(captures: Iterable[Seen], name: str, unit: str, error: Estimate) -> dict[tuple[str, str], Number]:
    """The median error of an estimator on each path at each place, by path and place."""
    by: dict[tuple[str, str], list[float]] = {}
    for one in captures:
        value = error(one)
        if value is not None:
            by.setdefault((one.path, one.place), []).append(value)
    made = {key: median_of(name, unit, values, ", ".join(key)) for key, values in sorted(by.items())}
    return {key: number for key, number in made.items() if number is not None}


def at_sender(
    found: Mapping[tuple[str, str], Number], near: Callable[[str], float] | float
) -> dict[str, bool]:
    """On each path, whether the median error at the sender is within `near`, which may differ by path."""
    return {
        path: abs(number.value) <= (near if isinstance(near, float) else near(path))
        for (path, place), number in found.items()
        if place == SENDER
    }


def unknown(captures: Iterable[Seen], value: Estimate) -> str:
    """At which places, of how many captures, the estimator gives nothing: `receiver 12 of 12`."""
    told = []
    every = list(captures)
    for place in PLACES.values():
        here = [value(one) for one in every if one.place == place]
        nothing = len(here) - clean(here).size
        if nothing:
            told.append(f"{place} {nothing} of {len(here)}")
    return "; ".join(told) or "nowhere"


def but_for(marks: Mapping[str, bool]) -> str:
    """`16 of 18 (not: reordering, 20ms)`: how many are right, and which are not."""
    wrong = [name for name, right in marks.items() if not right]
    return f"{len(marks) - len(wrong)} of {len(marks)}" + (f" (not: {'; '.join(wrong)})" if wrong else "")
