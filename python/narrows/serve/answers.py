"""The answers of directories of results and their pictures, kept in the cache folder for as long as nothing
changes.

To answer, all runs of a directory are read, which takes seconds where there are many: a page is shown before,
and its answer when it is known. Whoever asks, it is worked out once, in the background.
"""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from pydantic import TypeAdapter

from narrows.figures.vector import Vector
from narrows.kernel.image import cache_dir
from narrows.report.answer import Answer, answer
from narrows.report.marks import FILE, Mark, marks
from narrows.runs.observed import Observed
from narrows.serve.catalog import Catalog, Entry
from narrows.store.damaged import left_out
from narrows.studies.judged import code, keep

KEPT_MOST = 1000
AT_ONCE = 24
"""So many runs are read while a page waits for its answer."""
DRAWING = Lock()
"""One thing is drawn at a time, because matplotlib's state is one."""


@dataclasses.dataclass(frozen=True)
class Picture:
    """The answer's figure as a page shows it."""

    title: str
    caption: str
    svg: Vector


@dataclasses.dataclass(frozen=True)
class Said:
    """An answer, if the runs have one, its pass marks, and its picture where that was asked for."""

    answer: Answer | None
    marks: tuple[Mark, ...] = ()
    picture: Picture | None = None

    @property
    def line(self) -> str:
        """The answer in a line."""
        return "" if self.answer is None else self.answer.sentence


KEPT = TypeAdapter(Said)


class Answers:
    """What is known, and what has to be worked out."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[str, Said] = {}
        self._begun: dict[str, Future[Said]] = {}
        self._lock = Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="answers")

    def known(self, entry: Entry, *, drawn: bool = False) -> Said | None:
        """The answer where it is kept or soon worked out, with its picture if it is to be `drawn`; None: it
        is being worked out."""
        key = self._key(entry, drawn)
        if key not in self._known:
            try:
                self._known[key] = KEPT.validate_json(self._file(key).read_bytes())
            except (OSError, ValueError):
                if len(self._catalog.briefs(entry)) <= AT_ONCE:
                    return self._work_out(entry, key, drawn)
                self._begin(entry, key, drawn)
        return self._known.get(key)

    def of(self, entry: Entry, *, drawn: bool = False) -> Said:
        """The answer, however long it takes."""
        return self.known(entry, drawn=drawn) or self._begin(entry, self._key(entry, drawn), drawn).result()

    def _begin(self, entry: Entry, key: str, drawn: bool) -> Future[Said]:
        with self._lock:
            if key not in self._begun:
                self._begun[key] = self._worker.submit(self._work_out, entry, key, drawn)
            return self._begun[key]

    def _work_out(self, entry: Entry, key: str, drawn: bool) -> Said:
        try:
            runs = [run for run in self._catalog.runs(entry) if run.ok]
            found = self.known(entry) if drawn and self._key(entry, False) in self._known else None
            said = found or Said(answer(runs), marks(runs))
            if drawn and said.answer is not None:
                said = dataclasses.replace(said, picture=_drawn(runs))
            self._known[key] = said
            if not left_out(entry.path):  # what cannot be read is named each time
                keep(self._file(key), KEPT.dump_json(said).decode(), KEPT_MOST)
            return said
        finally:
            with self._lock:
                self._begun.pop(key, None)

    @staticmethod
    def _file(key: str) -> Path:
        return cache_dir() / "answers" / f"{key}.json"

    def _key(self, entry: Entry, drawn: bool) -> str:
        marked = entry.path / FILE
        judged = marked.stat().st_mtime_ns if marked.is_file() else 0
        what = json.dumps([code(), str(entry.path.resolve()), self._catalog.stamp(entry), judged, drawn])
        return hashlib.sha256(what.encode()).hexdigest()[:32]


def _drawn(runs: Sequence[Observed]) -> Picture | None:
    from narrows.figures.drawing import Missing  # Matplotlib takes half a second: only who draws pays for it
    from narrows.report.build import first_figure

    with DRAWING:
        result = first_figure(runs)
        if isinstance(result, Missing):
            return None
        picture = Picture(result.title, result.caption, result.vector())
        result.close()
        return picture
