"""Runs with only the numbers that a study's claims ask for: hundreds of them are kept in little room."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from narrows.runs.archive import without_turns
from narrows.runs.observed import Observed
from narrows.runs.quantities import Kept, numbers, tails
from narrows.studies.find import claims
from narrows.studies.ledger import judge_all


@dataclass
class _Read(Mapping[Any, Any]):
    """Numbers of a run, and which of them were read."""

    of: Mapping[Any, Any]
    read: dict[Any, Any] = field(default_factory=dict)

    def __getitem__(self, name: Any) -> Any:
        return self.read.setdefault(name, self.of[name])

    def __iter__(self) -> Iterator[Any]:
        return iter(self.of)

    def __len__(self) -> int:
        return len(self.of)


def only_asked(runs: Sequence[Observed], name: str) -> list[Observed]:
    """The runs of which a claim of the study reads a number, each with what is read, and those with many
    flows or captures, which are kept as they are; without the turns of media if the verdicts are the same.
    What no claim of today reads, none of tomorrow can."""
    ids = [module.judge.claim.id for module in claims(name)]
    seen = [(_Read(run.figures), _Read(_by_name(numbers(run))), _Read(_by_name(tails(run)))) for run in runs]
    watched = [
        dataclasses.replace(run, figures=figures, read_quantities=lambda of=of: Kept(*of))  # type: ignore[misc]
        for run, (figures, *of) in zip(runs, seen, strict=True)
    ]
    verdicts = judge_all(watched, ids)
    found = []
    for run, read in zip(runs, seen, strict=True):
        figures, *of = (each.read for each in read)
        if any((figures, *of)) or run.read_many is not None or run.path_logs is not None:
            found.append(
                dataclasses.replace(run, figures=figures, read_quantities=lambda of=of: Kept(*of))  # type: ignore[misc]
            )
    bare = [dataclasses.replace(run, plan=without_turns(run.plan)) for run in found]
    return bare if judge_all(bare, ids) == verdicts else found


def _by_name(every: Iterable[tuple[str, str, str, Any]]) -> dict[tuple[str, str], Any]:
    return {(name, of): value for name, of, _, value in every}
