"""What is judged: runs, or what is read of them, each with its labels; and which of them a claim means."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from narrows.comparing.conditions import rank
from narrows.judging.verdict import Where, fits
from narrows.runs.observed import Observed


@dataclass(frozen=True)
class Item:
    """Something that is measured: what is read (`of`), its label on each axis, and the runs behind it."""

    of: Any
    key: Mapping[str, str]
    run_ids: tuple[str, ...]
    once: str = ""
    """What several items of a condition are together, of which one counts: a run of several experiments."""
    n: int = 1
    """Of how many trials it is the median."""


Items = Callable[[Sequence[Observed]], Iterable[Item]]
Read = Callable[[Any], float | None]
"""Reads a number of what an item is of; None: not measured."""


def good(runs: Iterable[Observed], experiment: str = "", where: Where | None = None) -> list[Observed]:
    """Good runs of our kernel, once for each experiment that they are runs of, in the order of their ids."""
    stem = experiment.removesuffix(".py")
    found = {
        (run.run_id, run.experiment): run
        for run in runs
        if run.ok
        and not run.kernel_config
        and (not stem or run.experiment == stem)
        and fits(run.key, where or {})
    }
    return [found[key] for key in sorted(found)]


def of_runs(runs: Iterable[Observed], **more: str) -> list[Item]:
    """An item for each run, under its own labels and these."""
    return [Item(run, {**run.key, **more}, (run.run_id,), run.run_id) for run in runs]


def figure(
    item: str | None, *names: str, direction: str | None = "down", per: float = 1.0, at: str | None = None
) -> Read:
    """The first of some figures that a run has of an item or of a part of it, or of its packets at a hop
    (`at`), in so many (`per`) of its unit."""

    def read(run: Observed) -> float | None:
        for name in names:
            value = run.figure(name, direction, run.whose(item, at))
            if value is not None:
                return value / per
        return None

    return read


def quantity(name: str, of: str = "") -> Read:
    """A quantity of a run (`narrows.runs.quantities`)."""

    return lambda run: run.quantity(name, of)


def over(one: Read, other: Read) -> Read:
    """One number over another; None where that is not known or nothing."""

    def read(of: Any) -> float | None:
        above, below = one(of), other(of)
        return None if above is None or not below else above / below

    return read


def grouped(items: Iterable[Item], by: Sequence[str]) -> list[tuple[dict[str, str], list[Item]]]:
    """Items by their labels on these axes, in the order of labels; an axis that an item lacks is left out."""
    found: dict[tuple[tuple[str, str], ...], list[Item]] = {}
    for item in items:
        same = found.setdefault(tuple((axis, item.key[axis]) for axis in by if axis in item.key), [])
        if not item.once or all(other.once != item.once for other in same):
            same.append(item)
    ordered = sorted(found, key=lambda key: [rank(axis, label) for axis, label in key])
    return [(dict(key), found[key]) for key in ordered]
