"""What a site shows: the directories of results below one root, and the runs and files in them.

A name that comes from outside is only ever looked up among those that were found here; no path is made of it.
What was read is kept until the directory changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from narrows.engine import layout
from narrows.runs.archive import SUFFIX
from narrows.runs.find import once, sources
from narrows.runs.load import load
from narrows.runs.observed import Observed
from narrows.store.results import Results

CAPTURES = (".pcapng", ".pcap")
ROOT = "all"
"""The name of the root itself, where it is a directory of results."""
Stamp = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Entry:
    """A directory of results, or a shard."""

    name: str
    path: Path

    @property
    def is_shard(self) -> bool:
        """A shard has numbers and no files."""
        return self.path.name.endswith(SUFFIX)


@dataclass(frozen=True)
class RunFile:
    """A file of a run that may be downloaded."""

    name: str
    path: Path
    what: str

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.path.stat().st_size


class Catalog:
    """Looks below `root` again whenever it is asked, and keeps what it read while a directory is the same."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._kept: dict[str, tuple[Stamp, list[Observed]]] = {}
        self._lock = Lock()

    def entries(self) -> dict[str, Entry]:
        """All directories of results and shards, by name; those that link out of the root are left out."""
        found = {}
        for path in sources(self.root):
            inside = path.resolve()
            if inside == self.root or self.root in inside.parents:
                name = "~".join(path.relative_to(self.root).parts) or ROOT
                found[name] = Entry(name, path)
        return found

    def entry(self, name: str) -> Entry | None:
        """The one of this name."""
        return self.entries().get(name)

    def stamp(self, entry: Entry) -> Stamp:
        """What changes when a run comes or goes."""
        if entry.is_shard:
            return ((entry.name, entry.path.stat().st_mtime_ns),)
        manifests = [
            *entry.path.glob(f"[!.]*/{layout.MANIFEST}"),
            *entry.path.glob(f".failed/*/{layout.MANIFEST}"),
        ]
        return tuple(sorted((str(path), path.stat().st_mtime_ns) for path in manifests))

    def runs(self, entry: Entry) -> Sequence[Observed]:
        """Its runs, the newest of each plan."""
        with self._lock:
            stamp = self.stamp(entry)
            kept = self._kept.get(entry.name)
            if kept is None or kept[0] != stamp:
                self._kept[entry.name] = kept = stamp, once(load(entry.path))
            return kept[1]

    def run(self, entry: Entry, run_id: str) -> Observed | None:
        """One of its runs."""
        return next((run for run in self.runs(entry) if run.run_id == run_id), None)

    def files(self, entry: Entry, run_id: str) -> dict[str, RunFile]:
        """What of a run may be downloaded: its tables, its plan and its captures; of a shard nothing."""
        if entry.is_shard or self.run(entry, run_id) is None:
            return {}
        folder = Results(entry.path).run_directory(run_id)
        found = [
            RunFile(path.name, path, _WHAT.get(path.stem, "table"))
            for path in sorted(folder.glob("*.parquet"))
        ]
        found += [
            RunFile(name, folder / name, _WHAT[name])
            for name in (layout.PLAN, layout.MANIFEST)
            if (folder / name).is_file()
        ]
        found += [
            RunFile(path.name, path, "capture")
            for path in sorted((folder / layout.RAW).glob("*"))
            if path.suffix in CAPTURES
        ]
        return {file.name: file for file in found}


_WHAT = {
    layout.PLAN: "the plan: everything that the run did",
    layout.MANIFEST: "the manifest: versions, calibration, conservation, warnings",
    "queue": "the queue log: every packet that left or was dropped",
    "samples": "time series",
    "metrics": "figures",
    "flows": "flows at the queues",
    "sojourn": "histograms of sojourn times",
    "score": "every metric on every series",
}
