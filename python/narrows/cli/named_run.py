"""Finds a run by the beginning of its id, in the directories a person may mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from narrows.errors import StoreError, UsageError

if TYPE_CHECKING:
    from narrows.store.results import Results

DEFAULT = Path("results")


def find_run(run: str, directory: Path | None) -> tuple[Results, str]:
    """The results that hold it, and its full id. `run` may also be the path of a run's directory."""
    from narrows.engine import layout
    from narrows.store.results import Results

    path = Path(run)
    if path.is_dir() and layout.read_manifest(path) is not None:
        parent = path.resolve().parent
        out = parent.parent if parent.name == layout.FAILED else parent
        return Results(out), path.resolve().name
    places = [directory] if directory is not None else _places()
    found = []
    for place in places:
        results = Results(place)
        ids = [one for one in results.runs()["run_id"].to_list() if one.startswith(run)]
        found += [(results, one) for one in ids]
    if len({one for _, one in found}) == 1:
        return found[0]
    if found:
        listing = ", ".join(f"{one} ({results.directory})" for results, one in found[:5])
        raise UsageError(f"{run} fits several runs: {listing}", remedy="give more digits, or --dir DIR")
    where = ", ".join(str(place) for place in places) or str(DEFAULT)
    raise StoreError(f"no run {run} in {where}", remedy="narrows list DIR shows the runs of a directory")


def _places() -> list[Path]:
    if not DEFAULT.is_dir():
        return []
    inner = [path for path in sorted(DEFAULT.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    return [DEFAULT, *inner]
