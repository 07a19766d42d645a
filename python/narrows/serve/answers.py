"""The answers of directories of results, kept in the cache folder for as long as nothing changes.

To answer, all runs of a directory are read, which takes seconds where there are many; a page is shown before,
and its answer when it is known.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from narrows.kernel.image import cache_dir
from narrows.report.answer import answer
from narrows.serve.catalog import Catalog, Entry
from narrows.store.damaged import left_out
from narrows.studies.judged import code, keep

KEPT_MOST = 500
LINE_MOST = 200
"""Characters."""
AT_ONCE = 24
"""So many runs are read while a page waits for its answer."""


@dataclass(frozen=True)
class Said:
    """An answer; no sentence where the runs have none."""

    sentences: tuple[str, ...] = ()
    note: str = ""

    @property
    def line(self) -> str:
        """The answer in a line: its first sentence, and what fits beside it."""
        line, *more = self.sentences or ("",)
        for sentence in more:
            if len(line) + len(sentence) > LINE_MOST:
                break
            line += f" {sentence}"
        return line


class Answers:
    """What is known, and what has to be worked out."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._known: dict[str, Said] = {}

    def known(self, entry: Entry) -> Said | None:
        """The answer where it is kept or soon worked out; None: ask for it."""
        key = self._key(entry)
        if key not in self._known:
            try:
                plain = json.loads((cache_dir() / "answers" / f"{key}.json").read_bytes())
                self._known[key] = Said(tuple(plain["sentences"]), plain["note"])
            except (OSError, ValueError, KeyError, TypeError):
                if len(self._catalog.briefs(entry)) <= AT_ONCE:
                    return self.of(entry)
        return self._known.get(key)

    def of(self, entry: Entry) -> Said:
        """The answer, however long it takes."""
        key = self._key(entry)
        if key not in self._known:
            found = answer([run for run in self._catalog.runs(entry) if run.ok])
            said = Said() if found is None else Said(tuple(found.sentences), found.note)
            self._known[key] = said
            if not left_out(entry.path):  # what cannot be read is named each time
                text = json.dumps({"sentences": said.sentences, "note": said.note})
                keep(cache_dir() / "answers" / f"{key}.json", text, KEPT_MOST)
        return self._known[key]

    def _key(self, entry: Entry) -> str:
        what = json.dumps([code(), str(entry.path.resolve()), self._catalog.stamp(entry)])
        return hashlib.sha256(what.encode()).hexdigest()[:32]
