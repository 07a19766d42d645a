"""The answers of directories of results and their pictures, kept in the cache folder for as long as nothing
changes.

To answer, all runs of a directory are read, which takes seconds where there are many: a page is shown before,
and its answer when it is known. Whoever asks, it is worked out once, in the background.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from narrows.kernel.image import cache_dir
from narrows.report import marks
from narrows.report.answer import Answer, answer
from narrows.report.small_table import Column, Row, Table
from narrows.runs.observed import Observed
from narrows.serve.catalog import Catalog, Entry
from narrows.store.damaged import left_out
from narrows.studies.judged import code, keep

if TYPE_CHECKING:
    from narrows.figures.vector import Vector

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
    marks: tuple[marks.Mark, ...] = ()
    picture: Picture | None = None

    @property
    def line(self) -> str:
        """The answer in a line."""
        return "" if self.answer is None else self.answer.sentence


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
                self._known[key] = _from_json(
                    json.loads((cache_dir() / "answers" / f"{key}.json").read_bytes())
                )
            except (OSError, ValueError, KeyError, TypeError):
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
            said = found or Said(answer(runs), marks.marks(runs))
            if drawn and said.answer is not None:
                said = dataclasses.replace(said, picture=_drawn(runs))
            self._known[key] = said
            if not left_out(entry.path):  # what cannot be read is named each time
                keep(cache_dir() / "answers" / f"{key}.json", json.dumps(dataclasses.asdict(said)), KEPT_MOST)
            return said
        finally:
            with self._lock:
                self._begun.pop(key, None)

    def _key(self, entry: Entry, drawn: bool) -> str:
        marked = entry.path / marks.FILE
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


Made = TypeVar("Made")


def _each(make: Callable[..., Made], plain: Any) -> tuple[Made, ...]:
    return tuple(make(**_tuples(each)) for each in plain)


def _tuples(plain: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples."""
    deep = {
        name: tuple(map(tuple, v)) if v and isinstance(v[0], list) else tuple(v)
        for name, v in plain.items()
        if isinstance(v, list)
    }
    return plain | deep


def _table(plain: dict[str, Any]) -> Table:
    parts = {"columns": _each(Column, plain["columns"]), "rows": _each(Row, plain["rows"])}
    return Table(**(_tuples(plain) | parts))


def _from_json(plain: dict[str, Any]) -> Said:
    found, picture = plain["answer"], plain["picture"]
    if found is not None:
        found = Answer(
            **(found | {"table": _table(found["table"]), "tables": tuple(map(_table, found["tables"]))})
        )
    if picture is not None:
        from narrows.figures.vector import Vector

        picture = Picture(**(picture | {"svg": Vector(**_tuples(picture["svg"]))}))
    return Said(found, _each(marks.Mark, plain["marks"]), picture)
