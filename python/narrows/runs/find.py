"""Finds the stored runs below some directories: directories of results, and shards (narrows.runs.archive).

The same plan that the same engine carried out with the same kernel configuration is one run: where several
are found, in results and shards alike, the newest counts (`written_at`). Runs that were called otherwise by
another experiment have another plan, and both are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from narrows.engine import layout
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
    """The newest of the runs of one plan, engine and kernel configuration, where the first of them stood.
    Failed runs stay."""
    found: dict[tuple[str, ...], Observed] = {}
    for run in runs:
        what = _what(run)
        if what not in found or _written(found[what]) < _written(run):
            found[what] = run
    return list(found.values())


def _what(run: Observed) -> tuple[str, ...]:
    plan = run.manifest.get("plan_hash")
    if not run.ok or plan is None:
        return (run.run_id, run.experiment, run.status)
    return (str(plan), str(run.manifest.get("engine")), run.kernel_config)


def _written(run: Observed) -> str:
    return str(run.manifest.get("written_at", ""))
