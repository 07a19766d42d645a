"""What pages say of a directory of results by its manifests alone: its state, and its runs by conditions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from narrows.comparing.conditions import REPETITION, axes, rank
from narrows.serve.catalog import Brief, Catalog, Entry


@dataclass(frozen=True)
class Told:
    """A directory of results, in a few words."""

    entry: Entry
    experiments: tuple[str, ...]
    question: str | None
    """None where several experiments ask several."""
    good: int
    failed: int
    damaged: tuple[str, ...]
    running: int | None
    newest: str

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """Kind and words, what matters most first."""
        found = []
        if self.running is not None:
            found.append(("running", f"running: {self.running} at work" if self.running else "running"))
        if self.damaged:
            found.append(("damaged", f"{len(self.damaged)} damaged"))
        if self.failed:
            found.append(("failed", f"{self.failed} failed"))
        if self.running is None and self.good:
            found.append(("done", "done"))
        return tuple(found)


def told(catalog: Catalog, entry: Entry) -> Told:
    """What there is."""
    runs = catalog.briefs(entry)
    questions = tuple(dict.fromkeys(run.question for run in runs))
    return Told(
        entry=entry,
        experiments=tuple(sorted({run.experiment for run in runs})),
        question=questions[0] if len(questions) == 1 else None,
        good=sum(run.ok for run in runs),
        failed=sum(not run.ok for run in runs),
        damaged=tuple(catalog.damaged(entry)),
        running=catalog.running(entry),
        newest=max((run.written for run in runs), default=""),
    )


@dataclass(frozen=True)
class Condition:
    """The runs of one set of labels, repetitions together."""

    labels: tuple[str, ...]
    good: int
    failed: int
    newest: str
    only: str | None
    """The run, where it is one."""


@dataclass(frozen=True)
class Listing:
    """The runs that were chosen."""

    axes: tuple[str, ...]
    """Of all of them; the repetition last."""
    by: tuple[str, ...]
    """Those that make conditions."""
    choices: Mapping[str, tuple[str, ...]]
    """Labels of every axis that tells runs apart."""
    chosen: Mapping[str, str]
    conditions: tuple[Condition, ...]
    runs: tuple[Brief, ...]
    every: int


def listing(runs: Sequence[Brief], wanted: Mapping[str, str]) -> Listing | None:
    """The runs with the labels that are wanted; None where there is no such axis or label."""
    every = tuple(axes(runs))
    labels = {
        axis: tuple(sorted({run.label(axis) for run in runs}, key=lambda text, a=axis: rank(a, text)))  # type: ignore[misc]
        for axis in every
    }
    if any(axis not in labels or text not in labels[axis] for axis, text in wanted.items()):
        return None
    chosen = [run for run in runs if all(run.label(axis) == text for axis, text in wanted.items())]
    by = tuple(axis for axis in every if axis != REPETITION)
    groups: dict[tuple[str, ...], list[Brief]] = {}
    for run in chosen:
        groups.setdefault(tuple(run.label(axis) for axis in by), []).append(run)
    ordered = sorted(groups, key=lambda key: [rank(axis, text) for axis, text in zip(by, key, strict=True)])
    conditions = tuple(
        Condition(
            key,
            sum(run.ok for run in groups[key]),
            sum(not run.ok for run in groups[key]),
            max(run.written for run in groups[key]),
            groups[key][0].run_id if len(groups[key]) == 1 else None,
        )
        for key in ordered
    )
    choices = {axis: texts for axis, texts in labels.items() if len(texts) > 1}
    chosen.sort(key=lambda run: [rank(axis, run.label(axis)) for axis in every])
    return Listing(every, by, choices, wanted, conditions, tuple(chosen), len(runs))


def names(runs: Sequence[Brief]) -> dict[str, str]:
    """By id what tells each apart from the others."""
    told = [axis for axis in axes(runs) if len({run.label(axis) for run in runs}) > 1]
    return {run.run_id: ", ".join(f"{a} {run.label(a)}" for a in told) or run.run_id for run in runs}
