"""What a site shows: the directories of results below one root, and the runs and files in them.

A name that comes from outside is only ever looked up among those that were found here; no path is made of it.
What was read is kept until the directory changes. A list of runs is made of manifests alone; tables are read
of the run that is looked at, or of all of them where a page is about all.
"""

import hashlib
import html
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from narrows.engine import layout
from narrows.runs.archive import SUFFIX
from narrows.runs.find import holds_runs, once
from narrows.runs.load import load, load_one
from narrows.runs.observed import EXPERIMENT, NO_LABEL, Observed
from narrows.spec.pairs import PAIR
from narrows.store.damaged import left_out
from narrows.store.results import Results

CALIBRATION = "calibration/calibration.html"
_MADE_BY = re.compile(r"<footer>Written by <code>narrows (calibrate|paths|study[^<]*)</code>")
"""What `narrows report` wrote is made anew by the site, with scripts of its own."""
_TITLE = re.compile(r"<h1>([^<]*)</h1>")
ENDS_BYTES = 20_000
"""Of a page: its style and its title are within."""
CAPTURES = (".pcapng", ".pcap")
QLOGS = (".qlog", ".sqlog")
ROOT = "all"
"""The name of the root itself, where it is a directory of results."""
DEPTH = 8
"""Levels of directories below the root that are looked into."""
LOCKS = Path("/proc/locks")
LATELY_S = 120
"""A run that nobody here holds counts as running (on another machine) while its files are so new."""
RUNS_KEPT = 200
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

    @property
    def called(self) -> str:
        return self.name.replace("~", "/")


@dataclass(frozen=True)
class Brief:
    """What a list says of a run, by its manifest."""

    run_id: str
    experiment: str
    question: str
    key: Mapping[str, str]
    status: str
    error: str | None
    written: str
    warnings: int

    @property
    def ok(self) -> bool:
        """Only such runs' numbers count."""
        return self.status == "ok"

    def label(self, axis: str) -> str:
        return self.experiment if axis == EXPERIMENT else self.key.get(axis, NO_LABEL)


@dataclass(frozen=True)
class RunFile:
    """A file of a run that may be downloaded."""

    name: str
    path: Path
    what: str

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size


@dataclass(frozen=True)
class Page:
    """A page that a command wrote and that is whole as it is."""

    name: str
    path: Path
    title: str
    made_by: str


@dataclass(frozen=True)
class _Kept:
    stamp: Stamp
    results: Results | None
    briefs: tuple[Brief, ...]


class Catalog:
    """Looks below `root` again whenever it is asked, and keeps what it read while a directory is the same."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lists: dict[str, _Kept] = {}
        self._whole: dict[str, tuple[Stamp, list[Observed]]] = {}
        self._manifests: dict[Path, tuple[int, dict[str, Any] | None]] = {}
        self._runs: dict[tuple[str, str, int], Observed | None] = {}
        self._lock, self._tables = Lock(), Lock()

    # ---- directories

    def entries(self) -> dict[str, Entry]:
        """All directories of results and shards, by name; those that link out of the root are left out."""
        found = {}
        for path in _sources(self.root, self.root):
            name = "~".join(path.relative_to(self.root).parts) or ROOT
            found[name] = Entry(name, path)
        return found

    def entry(self, name: str) -> Entry | None:
        return self.entries().get(name)

    def pages(self) -> dict[str, Page]:
        """Pages of calibrations, studies and captures, by their place below the root."""
        found = {}
        for folder in _folders(self.root, self.root):
            for path in (folder / CALIBRATION, folder / "report.html"):
                if _is_below(path, self.root) and path.is_file():
                    begin, end = _ends(path)
                    made, title = _MADE_BY.search(end), _TITLE.search(begin)
                    if made and title:
                        name = "~".join(path.relative_to(self.root).parts)
                        found[name] = Page(name, path, html.unescape(title[1]), made[1])
        return found

    def stamp(self, entry: Entry) -> Stamp:
        """What changes when a run comes or goes."""
        if entry.is_shard:
            return ((entry.name, entry.path.stat().st_mtime_ns),)
        return tuple(sorted(_manifests(entry.path)))

    def running(self, entry: Entry) -> int | None:
        """How many runs are being made there; None where nobody is at work."""
        if entry.is_shard:
            return None
        begun = [path for path in entry.path.glob(f"{layout.TMP_PREFIX}*-*") if path.is_dir()]
        if _is_held(entry.path / layout.LOCK):
            return len(begun)
        now = time.time()
        lately = [path for path in begun if now - path.stat().st_mtime < LATELY_S]
        return len(lately) or None

    def pulse(self) -> str:
        """What changes whenever a list would: cheap enough to be asked every second. A page has that of its
        making, so that it hears of what came before it listens."""
        told: list[object] = []
        for entry in self.entries().values():
            folders = [entry.path, entry.path / layout.FAILED]
            times = [each.stat().st_mtime_ns for each in folders if each.exists()]
            told.append((entry.name, *times, self.running(entry)))
        return hashlib.sha256(repr(told).encode()).hexdigest()[:16]

    # ---- runs

    def briefs(self, entry: Entry) -> Sequence[Brief]:
        """Its runs, the newest of each plan, by their manifests alone."""
        known = self._list(entry).briefs
        gone = {path.name for path in left_out(entry.path)}
        return [run for run in known if run.run_id not in gone] if gone else known

    def damaged(self, entry: Entry) -> list[str]:
        """Its runs that cannot be read and are left out, each with why."""
        self._list(entry)
        return [f"{path.name}: {why}" for path, why in left_out(entry.path).items()]

    def runs(self, entry: Entry) -> Sequence[Observed]:
        """All of its runs with their numbers, the newest of each plan."""
        with self._tables:
            stamp = self.stamp(entry)
            kept = self._whole.get(entry.name)
            if kept is None or kept[0] != stamp:
                self._whole[entry.name] = kept = stamp, once(load(entry.path))
            return kept[1]

    def run(self, entry: Entry, run_id: str) -> Observed | None:
        """One of its runs, read by itself."""
        if entry.is_shard:
            return next((run for run in self.runs(entry) if run.run_id == run_id), None)
        known = self._list(entry)
        if known.results is None or run_id not in {brief.run_id for brief in known.briefs}:
            return None
        folder = known.results.run_directory(run_id)
        if layout.links(folder):
            return None
        key = (entry.name, run_id, (folder / layout.MANIFEST).stat().st_mtime_ns)
        with self._tables:
            if key not in self._runs:
                while len(self._runs) >= RUNS_KEPT:
                    self._runs.pop(next(iter(self._runs)))
                self._runs[key] = load_one(known.results, run_id)
            return self._runs[key]

    def met(self, entry: Entry, run: Observed) -> Sequence[Observed]:
        """The trials of services under this run's conditions, which say what was fair in it."""
        if PAIR not in run.key:
            return ()
        if entry.is_shard:
            return self.runs(entry)
        beside = set(run.key) - {PAIR, "seed"}
        same = [
            brief.run_id
            for brief in self.briefs(entry)
            if brief.ok and PAIR in brief.key and all(brief.key.get(a) == run.key[a] for a in beside)
        ]
        return [found for each in same if (found := self.run(entry, each)) is not None]

    def _list(self, entry: Entry) -> _Kept:
        with self._lock:
            stamp = self.stamp(entry)
            kept = self._lists.get(entry.name)
            if kept is None or kept.stamp != stamp:
                if entry.is_shard:
                    kept = _Kept(stamp, None, tuple(_brief_of(run) for run in self.runs(entry)))
                else:
                    results = Results(entry.path, read=self._manifest)
                    gone = results.superseded() | results.imported
                    ids = sorted({*results.run_ids, *results.failed_ids} - gone)
                    kept = _Kept(stamp, results, tuple(_brief(results.manifest(each)) for each in ids))
                self._lists[entry.name] = kept
            return kept

    def _manifest(self, folder: Path) -> dict[str, Any] | None:
        written = (folder / layout.MANIFEST).stat().st_mtime_ns
        kept = self._manifests.get(folder)
        if kept is None or kept[0] != written:
            self._manifests[folder] = kept = written, layout.read_manifest(folder)
        return kept[1]

    # ---- files

    def files(self, entry: Entry, run_id: str) -> dict[str, RunFile]:
        """What of a run may be downloaded: its tables, its plan and its captures; of a shard nothing."""
        known = self._list(entry)
        if known.results is None or run_id not in {brief.run_id for brief in known.briefs}:
            return {}
        folder = known.results.run_directory(run_id)
        found = [
            RunFile(path.name, path, _WHAT.get(path.stem, "a table of another version of narrows"))
            for path in sorted(folder.glob("*.parquet"))
        ]
        found += [
            RunFile(name, folder / name, _WHAT[name])
            for name in (layout.PLAN, layout.MANIFEST)
            if (folder / name).is_file()
        ]
        found += [
            RunFile(path.name, path, f"packets as they passed {path.stem.replace('-', ', ')}: a capture")
            for path in sorted((folder / layout.RAW).glob("*"))
            if path.suffix in CAPTURES
        ]
        found += [
            RunFile(f"{path.parent.name}~{path.name}", path, "what a QUIC stack logged of itself: a qlog")
            for path in sorted((folder / layout.RAW).glob("*/*"))
            if path.suffix in QLOGS
        ]
        # A link may have been made since, or by a program of a run that failed for it.
        return {file.name: file for file in found if _is_below(file.path, folder)}


def _is_below(path: Path, folder: Path) -> bool:
    """Whether it is really there, and not by a link that leads out."""
    inside, there = path.resolve(), folder.resolve()
    return inside == there or there in inside.parents


def _sources(root: Path, within: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Directories of results (also those whose runs have all failed or are being made) and shards; nothing by
    a link that leads out of `within`."""
    if not _is_below(root, within):
        return
    if root.is_file() or holds_runs(root) or any(_begun(root)):
        yield root
    elif root.is_dir():
        for below in sorted(root.iterdir()):
            if below.name.endswith(SUFFIX) or (depth and below.is_dir() and not below.name.startswith(".")):
                yield from _sources(below, within, depth - 1)


def _folders(root: Path, within: Path, depth: int = DEPTH) -> Iterator[Path]:
    """All directories, not those within results, nor by a link that leads out of `within`."""
    if _is_below(root, within) and root.is_dir():
        yield root
        if depth and not holds_runs(root):
            for below in sorted(root.iterdir()):
                if not below.name.startswith("."):
                    yield from _folders(below, within, depth - 1)


def _ends(path: Path) -> tuple[str, str]:
    """What a page begins and ends with."""
    with path.open("rb") as file:
        begin = file.read(ENDS_BYTES)
        file.seek(max(0, path.stat().st_size - ENDS_BYTES))
        return begin.decode(errors="replace"), file.read().decode(errors="replace")


def _begun(directory: Path) -> Iterator[Path]:
    """Runs there that are being made, or have failed."""
    yield from (path for path in directory.glob(f"{layout.TMP_PREFIX}*-*") if path.is_dir())
    if not (directory / layout.FAILED).is_symlink():
        yield from (directory / layout.FAILED).glob(f"*/{layout.MANIFEST}")


def _manifests(directory: Path) -> Iterator[tuple[str, int]]:
    for folder in (directory, directory / layout.FAILED):
        if not folder.is_dir():
            continue
        with os.scandir(folder) as inside:
            for each in inside:
                if not each.name.startswith("."):
                    try:
                        yield each.path, os.stat(f"{each.path}/{layout.MANIFEST}").st_mtime_ns
                    except OSError:
                        continue  # no run, or one that is gone


def _is_held(lock: Path) -> bool:
    """Whether a process of this machine holds the lock of a directory. Nobody is asked for it: who tries to
    take a lock is in the way of who wants it."""
    try:
        known = lock.stat()
        held = LOCKS.read_text()
    except OSError:
        return False
    place = f"{os.major(known.st_dev):02x}:{os.minor(known.st_dev):02x}:{known.st_ino}"
    return any(place in line.split() for line in held.splitlines())


def _brief(manifest: Mapping[str, Any]) -> Brief:
    error = manifest.get("error") or {}
    return Brief(
        run_id=str(manifest["run_id"]),
        experiment=str(manifest.get("experiment") or ""),
        question=str(manifest.get("question") or ""),
        key={str(axis): str(label) for axis, label in manifest["key"].items()},
        status=str(manifest["status"]),
        error=None
        if manifest["status"] == "ok"
        else str(error.get("line") or error.get("message") or "no error message was stored"),
        written=str(manifest["written_at"]),
        warnings=len(manifest.get("warnings") or ()),
    )


def _brief_of(run: Observed) -> Brief:
    written = str(run.manifest.get("written_at") or "")
    return Brief(
        run.run_id, run.experiment, run.question, run.key, run.status, run.error, written, len(run.warnings)
    )


_WHAT = {
    layout.PLAN: "the plan: everything that the run did, every default written out",
    layout.MANIFEST: "the manifest: what was in effect, versions, calibration, conservation, warnings",
    "queue": "events at the tapped queues: with tap 'packets' each arrival, departure, mark and drop, "
    "with tap 'drops' only packets dropped, marked or still queued",
    "samples": "series over time: of the tap, of samplers such as tcp_info, and of items themselves",
    "metrics": "figures of the whole run, of tools and of the tap",
    "flows": "flows at the tapped queues, with the packets and bytes of each",
    "sojourn": "histograms of the time that packets stood in each tapped queue",
    "score": "every metric on every series, beside the tap's truth",
    "tcp_flows": "watched TCP sockets: counters of the measuring window, one row a socket",
    "tcp_events": "changes of congestion state of watched TCP sockets",
    "tcp_samples": "bytes acknowledged, smoothed RTT and congestion window of watched TCP sockets over time",
}
