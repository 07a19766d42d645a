"""Finds the stored runs below some directories: directories of results, and shards (narrows.runs.archive).

What the same engine made under the same labels with the same kernel configuration is one run: where several
are found, in results and shards alike, also of an experiment that was edited, the newest counts. Runs that
were called otherwise by another experiment are both there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from narrows.engine import layout
from narrows.engine.layout import ASKED_AT
from narrows.runs.archive import SUFFIX
from narrows.runs.load import load
from narrows.runs.observed import Observed
from narrows.store.results import Results

DEPTH = 3
"""Levels of directories below the one that is named."""


def runs_below(roots: Iterable[Path], progress: Callable[[int], None] | None = None) -> list[Observed]:
    """All runs of the directories and shards that are, or lie below, these; each once. `progress` hears how
    many were read of each."""
    return once(run for root in roots for source in sources(root) for run in load(source, progress))


def imported_below(roots: Iterable[Path]) -> int:
    """How many runs there were imported from another program's files: `runs_below` leaves them out."""
    folders = (source for root in roots for source in sources(root) if source.is_dir())
    return sum(len(Results(folder).imported) for folder in folders)


def sources(root: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Directories of results and shards, in order of their names. Inside results nothing is looked for."""
    if root.is_file() or holds_runs(root):
        yield root
    elif root.is_dir():
        for below in sorted(root.iterdir()):
            if below.name.endswith(SUFFIX) or (depth and below.is_dir() and not below.name.startswith(".")):
                yield from sources(below, depth - 1)


def holds_runs(directory: Path) -> bool:
    """Whether it is a directory of results."""
    return directory.is_dir() and any((run / layout.MANIFEST).exists() for run in directory.glob("[!.]*"))


def once(runs: Iterable[Observed]) -> list[Observed]:
    """The newest of the runs of the same labels (a seed is one), engine and kernel configuration, where the
    first of them stood, which names the others: of an older plan, kernel or agent. Failed runs stay."""
    again: dict[tuple[object, ...], list[Observed]] = {}
    for run in runs:
        again.setdefault(_what(run), []).append(run)
    return [_newest(same) for same in again.values()]


def _what(run: Observed) -> tuple[object, ...]:
    if not run.ok or run.manifest.get("plan_hash") is None:
        return (run.run_id, run.experiment, run.status)
    return (run.experiment, run.manifest.get("engine"), tuple(sorted(run.key.items())))


def _newest(same: Sequence[Observed]) -> Observed:
    def age(one: Observed) -> tuple[str, bool]:
        """Of the same run the one that has its files, then the one of the last shard, which is of a later
        version of this program."""
        written = max(str(one.manifest.get(at, "")) for at in ("written_at", ASKED_AT))
        return written, one.folder is not None

    run = max(reversed(same), key=age)
    older = dict.fromkeys((*run.older, *(one.run_id for one in same if one.run_id != run.run_id)))
    return replace(run, older=tuple(older)) if len(older) > len(run.older) else run
