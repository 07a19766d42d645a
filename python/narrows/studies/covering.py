"""Whether a verdict rests on all conditions of its claim's experiment, and weaker words where it does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import ModuleType

from narrows.judging.verdict import Verdict, Word
from narrows.runs.observed import EXPERIMENT, Observed
from narrows.spec.axis import SEED
from narrows.studies.chosen import conditions_of
from narrows.studies.find import experiments, experiments_of, study

NAMED = 8
"""Labels of an axis that a reason names."""
Condition = Callable[[Observed], Hashable]


def covering(verdict: Verdict, name: str, module: ModuleType, runs: Sequence[Observed]) -> Verdict:
    """A claim cannot hold by some of its conditions: what was not measured is named, and the word is weaker.

    The conditions are those of its experiments; runs of any experiment count.
    """
    condition = study(name).condition
    if condition is None or verdict.verdict in ("not measured", "not testable here"):
        return verdict
    there = {_condition(name, condition, run) for run in runs if run.ok and not run.kernel_config}
    wanted = _wanted(name, module, condition)
    missing = [key for key, each in wanted if each not in there]
    if not missing:
        return verdict
    word: Word = "holds in part" if verdict.verdict == "holds" else verdict.verdict
    kept = len(wanted) - len(missing)
    reason = f"{verdict.reason}; measured: {kept} of {len(wanted)} conditions of its experiment"
    absent = _absent([key for key, _ in wanted], missing)
    return dataclasses.replace(verdict, verdict=word, reason=f"{reason}{absent}")


def kept(name: str, runs: Sequence[Observed]) -> str:
    """How much of a study these runs are: `64 of 374 conditions are measured here, none with queue sfq`."""
    wanted = [
        {EXPERIMENT: stem} | {axis: label for axis, label in key.items() if axis != SEED}
        for stem, file in experiments(name).items()
        for key, _ in conditions_of(file)
    ]
    there = [{EXPERIMENT: run.experiment} | dict(run.key) for run in runs if run.ok]
    sets = [set(each.items()) for each in there]
    missing = [key for key in wanted if not any(key.items() <= each for each in sets)]
    absent = _absent(wanted, missing)
    return f"{len(wanted) - len(missing)} of {len(wanted)} conditions are measured here{absent}"


def _absent(every: Sequence[Mapping[str, str]], missing: Sequence[Mapping[str, str]]) -> str:
    """The labels of which no condition was measured: `, none with queue codel, sfq`."""
    measured = [key for key in every if key not in missing]
    absent = []
    for axis in dict.fromkeys(axis for key in every for axis in key):
        labels = dict.fromkeys(key[axis] for key in every if axis in key)
        gone = [label for label in labels if not any(key.get(axis) == label for key in measured)]
        if gone and len(gone) < len(labels):
            more = f" and {len(gone) - NAMED} more" if len(gone) > NAMED else ""
            absent.append(f"{axis} {', '.join(gone[:NAMED])}{more}")
    return f", none with {'; '.join(absent)}" if absent else ""


def _condition(name: str, condition: Condition, run: Observed) -> Hashable:
    """Worked out once of each run: every claim of a study asks for it."""
    if (kept := ("condition", name)) not in run.kept:
        run.kept[kept] = condition(run)
    hashable: Hashable = run.kept[kept]
    return hashable


def _wanted(name: str, module: ModuleType, condition: Condition) -> list[tuple[Mapping[str, str], Hashable]]:
    """Every condition of a claim's experiments: its labels, and the condition of its first repetition as if
    that had been carried out."""
    found: list[tuple[Mapping[str, str], Hashable]] = []
    for stem, file in experiments_of(name, module).items():
        for key, plan in conditions_of(file):
            planned = Observed("", stem, "", key, "planned", None, plan)
            found.append(({axis: label for axis, label in key.items() if axis != SEED}, condition(planned)))
    return found
