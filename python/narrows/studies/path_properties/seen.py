"""What the captures of runs say by `narrows paths`, beside what the runs know. Nothing is judged here."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.judging.parts import Item, Items, good
from narrows.judging.parts import Read as Estimate
from narrows.paths.of_runs import Row, with_logs
from narrows.runs.observed import Observed

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

    def value(self, name: str) -> Any:
        """A column of `narrows.paths.of_runs`; None: not known."""
        return self.row.get(name)


_READ: dict[tuple[str, str], Sequence[Row]] = {}
"""What was read of runs whose captures are here: every claim asks for the same."""


def seen(runs: Iterable[Observed], experiment: str = EXPERIMENT) -> list[Seen]:
    """Every capture of the good runs of one of the study's experiments, run by run."""
    mine = {run.run_id: run for run in good(runs, experiment)}
    unread = [run for run in mine.values() if run.path_logs is None and _key(run) not in _READ]
    for run in with_logs(unread):
        _READ[_key(run)] = run.path_logs or ()
    found = []
    for _, run in sorted(mine.items()):
        for row in _READ.get(_key(run), ()) if run.path_logs is None else run.path_logs:
            node = str(row["captured_at"]).partition(":")[0]
            found.append(Seen(run, PLACES.get(node, node), row))
    return found


def items(experiment: str = EXPERIMENT) -> Items:
    """Every capture of an experiment, under the labels of its run and its place."""
    return lambda runs: [
        Item(one, {**one.run.key, "place": one.place}, (one.run.run_id,)) for one in seen(runs, experiment)
    ]


def _key(run: Observed) -> tuple[str, str]:
    return run.run_id, str(run.folder)


def ratio(value: float | None, true: float | None) -> float | None:
    """How far a value is from the true one, relative to it."""
    return None if value is None or not true else value / true - 1


def relative(name: str, true: str) -> Estimate:
    """The relative error of one column against another."""
    return lambda one: ratio(one.value(name), one.value(true))
