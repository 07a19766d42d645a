"""Runs with only the numbers that a study's claims ask for: hundreds of them are kept in little room."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from narrows.runs.archive import without_turns
from narrows.runs.observed import Observed, Quantities
from narrows.runs.quantities import Kept
from narrows.store.whose import Name
from narrows.studies.find import claims
from narrows.studies.ledger import judge_all


@dataclass
class _Figures(Mapping[Name, float]):
    """The figures of a run, and which of them were read."""

    of: Mapping[Name, float]
    read: dict[Name, float] = field(default_factory=dict)

    def __getitem__(self, name: Name) -> float:
        return self.read.setdefault(name, self.of[name])

    def __iter__(self) -> Iterator[Name]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)


@dataclass
class _Quantities:
    """The single numbers and distributions of a run, and which of them were read."""

    of: Quantities
    read: Kept = field(default_factory=lambda: Kept({}, {}))

    def value(self, name: str, of: str) -> float | None:
        value = self.of.value(name, of)
        if value is not None:
            self.read.numbers[name, of] = value
        return value

    def tail(self, name: str, of: str) -> Any:
        tail = self.of.tail(name, of)
        if tail is not None:
            self.read.tails[name, of] = tail
        return tail


def only_asked(runs: Sequence[Observed], name: str) -> list[Observed]:
    """The runs of which a claim of the study reads a number, each with what is read, and those with many
    flows or captures, which are kept as they are; without the turns of media if the verdicts are the same.
    What no claim of today reads, none of tomorrow can."""
    ids = [module.judge.claim.id for module in claims(name)]
    watched = [
        dataclasses.replace(
            run,
            figures=_Figures(run.figures),
            read_quantities=lambda run=run: _Quantities(run.quantities),  # type: ignore[misc]
        )
        for run in runs
    ]
    verdicts = judge_all(watched, ids)
    found = []
    for run, seen in zip(runs, watched, strict=True):
        figures, numbers = seen.figures, seen.quantities
        assert isinstance(figures, _Figures)
        assert isinstance(numbers, _Quantities)
        read, whole = numbers.read, run.read_many is not None or run.path_logs is not None
        if figures.read or read.numbers or read.tails or whole:
            found.append(
                dataclasses.replace(run, figures=figures.read, read_quantities=lambda read=read: read)  # type: ignore[misc]
            )
    bare = [dataclasses.replace(run, plan=without_turns(run.plan)) for run in found]
    return bare if judge_all(bare, ids) == verdicts else found
