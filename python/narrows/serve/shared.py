"""What all pages of a site share: what there is, how pages are made, and what was drawn and is kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import HTTPException
from fastapi.responses import HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader

from narrows.report.environment import REPORT, environment
from narrows.report.page import number
from narrows.runs.observed import Observed
from narrows.serve.answers import DRAWING, Answers
from narrows.serve.catalog import Catalog, Entry
from narrows.studies.ledger import deciding

DRAWN_MOST = 200
"""Pictures and pages that are kept in memory."""


class Shared:
    """Of one site."""

    def __init__(self, root: Path) -> None:
        self.catalog = Catalog(root)
        self.answers = Answers(self.catalog)
        self.drawn = Drawn()
        self._pages = _environment()

    def render(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = self._pages.get_template(template).render(root=self.catalog.root.name, **values)
        return HTMLResponse(text, status_code=status)

    def entry(self, name: str) -> Entry:
        """The directory of this name, or "not found"."""
        entry = self.catalog.entry(name)
        if entry is None:
            raise HTTPException(404, "there is no such directory of results")
        return entry

    def run(self, entry: Entry, run_id: str) -> Observed:
        """The run of this id, or "not found"."""
        run = self.catalog.run(entry, run_id)
        if run is None:
            raise HTTPException(404, "there is no such run in this directory, or it cannot be read")
        return run


class Drawn:
    """What was drawn, the newest kept; one thing is drawn at a time."""

    def __init__(self) -> None:
        self._kept: dict[Any, bytes] = {}

    def get(self, key: Any, make: Callable[[], bytes]) -> bytes:
        """The bytes of a key, made when they are first asked for."""
        with DRAWING:
            if key not in self._kept:
                while len(self._kept) >= DRAWN_MOST:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = make()
            return self._kept[key]


def _environment() -> Environment:
    pages = environment(ChoiceLoader([PackageLoader("narrows.serve", "templates"), REPORT]))
    pages.filters |= {"number": number, "deciding": deciding}
    return pages
