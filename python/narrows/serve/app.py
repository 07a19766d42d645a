"""The site: pages that need no script and nothing from elsewhere, read only.

Every name in an address is looked up in the catalog, and an unknown one is "not found"; no path is made of it
and no command is run. Figures are those of the report, drawn when a page asks for them and kept in memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, HTMLResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.exceptions import HTTPException as StarletteHTTPException

from narrows.errors import NarrowsError
from narrows.figures.conditions import axes, given
from narrows.figures.drawing import Missing
from narrows.report.answer import answer
from narrows.report.build import build
from narrows.report.environment import REPORT, environment
from narrows.report.page import number
from narrows.report.table import summary, to_csv
from narrows.runs.find import once
from narrows.runs.observed import Observed, label
from narrows.serve import heat as heats
from narrows.serve import one_run
from narrows.serve.catalog import Catalog, Entry
from narrows.serve.changes import iterations, steps
from narrows.serve.pairs import pair_maps
from narrows.spec.pairs import PAIR
from narrows.studies.ledger import judge_all, measured

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
DRAWN_MOST = 200
"""Pictures and pages that are kept in memory."""
DPI = 110


def site(root: Path, hosts: Sequence[str]) -> FastAPI:
    """The application. `hosts` are the names that a browser may call it by (`*`: any)."""
    # No pages of FastAPI's own: they load scripts from elsewhere.
    app = FastAPI(title="narrows", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    catalog, pages, drawn = Catalog(root), _environment(), _Drawn()

    @app.middleware("http")
    async def guarded(request: Request, further: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await further(request)
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(StarletteHTTPException)
    async def refused(request: Request, error: StarletteHTTPException) -> Response:
        return render(
            "problem.html.j2", status=error.status_code, title="Not here", problem=str(error.detail)
        )

    @app.exception_handler(NarrowsError)
    async def failed(request: Request, error: NarrowsError) -> Response:
        return render("problem.html.j2", status=500, title="This cannot be shown", problem=str(error))

    def render(template: str, status: int = 200, **values: Any) -> HTMLResponse:
        text = pages.get_template(template).render(root=catalog.root.name, **values)
        return HTMLResponse(text, status_code=status)

    def entry_of(name: str) -> Entry:
        entry = catalog.entry(name)
        if entry is None:
            raise HTTPException(404, "there is no such directory of results")
        return entry

    def run_of(entry: Entry, run_id: str) -> Observed:
        run = catalog.run(entry, run_id)
        if run is None:
            raise HTTPException(404, "there is no such run in this directory")
        return run

    @app.get("/")
    def index() -> HTMLResponse:
        found: list[tuple[Entry, dict[str, Any] | None, str | None]] = []
        for entry in catalog.entries().values():
            try:
                found.append((entry, _told(catalog.runs(entry)), None))
            except NarrowsError as error:
                found.append((entry, None, str(error)))
        return render("index.html.j2", found=found)

    @app.get("/ledger")
    def ledger() -> HTMLResponse:
        entries = list(catalog.entries().values())

        def judged() -> bytes:
            runs = once(run for entry in entries for run in catalog.runs(entry))
            verdicts = judge_all(runs)
            known = [v for v in verdicts if v.verdict != "not measured"]
            silent = len(verdicts) - len(known)
            page = render("ledger.html.j2", verdicts=known, silent=silent, told=measured(known, runs))
            return bytes(page.body)

        return HTMLResponse(drawn.get(("ledger", *map(catalog.stamp, entries)), judged))

    @app.get("/r/{name}")
    def results(name: str) -> HTMLResponse:
        entry = entry_of(name)
        runs = catalog.runs(entry)
        good = [run for run in runs if run.ok]
        return render(
            "results.html.j2", entry=entry, told=_told(runs), answer=answer(good),
            conditions=[(axis, given(runs, axis)) for axis in axes(runs)], axes=axes(runs), runs=runs,
            failed=[run for run in runs if not run.ok], label=label,
            met=any(PAIR in run.key for run in good), watched=bool(iterations(entry)),
            quantities=heats.quantities(good) if len(heats.map_axes(good)) > 1 else [],
        )  # fmt: skip

    @app.get("/r/{name}/report")
    def report(name: str) -> HTMLResponse:
        entry = entry_of(name)
        runs = catalog.runs(entry)
        text = drawn.get((name, "report", catalog.stamp(entry)), lambda: _report(runs, entry.name))
        return HTMLResponse(text)

    @app.get("/r/{name}/table.csv")
    def table(name: str) -> Response:
        good = [run for run in catalog.runs(entry_of(name)) if run.ok]
        return Response(to_csv(summary(good)), media_type="text/csv")

    @app.get("/r/{name}/heat")
    def heat(
        name: str,
        quantity: Annotated[str, Query(max_length=200)] = "",
        down: Annotated[str, Query(max_length=200)] = "",
        across: Annotated[str, Query(max_length=200)] = "",
    ) -> HTMLResponse:
        entry = entry_of(name)
        good = [run for run in catalog.runs(entry) if run.ok]
        known, of = heats.map_axes(good), heats.quantities(good)
        if len(known) < 2 or not of:
            raise HTTPException(404, "a map needs two axes that tell these runs apart, and a quantity")
        chosen = (
            quantity or of[0],
            down or known[0],
            across or next(a for a in known if a != (down or known[0])),
        )
        if chosen[0] not in of or not {chosen[1], chosen[2]} <= set(known) or chosen[1] == chosen[2]:
            raise HTTPException(404, "these runs have no such quantity over two such axes")
        found = heats.heat(good, *chosen)
        return render(
            "heat.html.j2", entry=entry, heat=found, quantities=of, axes=known,
            quantity=chosen[0], down=chosen[1], across=chosen[2],
        )  # fmt: skip

    @app.get("/r/{name}/pairs")
    def pairs(name: str) -> HTMLResponse:
        entry = entry_of(name)
        found = pair_maps(catalog.runs(entry))
        if not found:
            raise HTTPException(404, "no services met in these runs")
        return render("pairs.html.j2", entry=entry, found=found)

    @app.get("/r/{name}/changes")
    def changes(name: str) -> HTMLResponse:
        entry = entry_of(name)
        known = iterations(entry)
        if not known:
            raise HTTPException(404, "these runs are no iteration of narrows watch")
        at = {one.path: one for one in catalog.entries().values()}
        found = steps(known, lambda one: catalog.runs(at[one.runs]) if one.runs in at else [])
        return render("changes.html.j2", entry=entry, known=known, found=found)

    @app.get("/r/{name}/cell")
    def cell(name: str, request: Request) -> HTMLResponse:
        entry = entry_of(name)
        runs = catalog.runs(entry)
        wanted = dict(request.query_params)
        known = axes(runs)
        if not wanted or not set(wanted) <= set(known):
            raise HTTPException(404, f"runs are chosen by these axes: {', '.join(known)}")
        chosen = [run for run in runs if all(label(run, axis) == text for axis, text in wanted.items())]
        return render("cell.html.j2", entry=entry, wanted=wanted, runs=chosen, axes=known, label=label)

    @app.get("/r/{name}/run/{run_id}")
    def run(name: str, run_id: str) -> HTMLResponse:
        entry = entry_of(name)
        one = run_of(entry, run_id)
        files = [] if entry.is_shard else list(catalog.files(entry, run_id).values())
        return render(
            "run.html.j2", entry=entry, run=one, facts=one_run.facts(one), figures=one_run.figures(one),
            items=one_run.items(one, catalog.runs(entry)),
            pictures={} if entry.is_shard else one_run.pictures(one), files=files,
            commands=[f"{step.node}$ {step.command()}" for step in one.plan.setup if step.tool == "tc"],
        )  # fmt: skip

    @app.get("/r/{name}/run/{run_id}/figure/{figure}.png")
    def figure(name: str, run_id: str, figure: str) -> Response:
        entry = entry_of(name)
        picture = one_run.pictures(run_of(entry, run_id)).get(figure)
        if picture is None:
            raise HTTPException(404, "there is no such figure of this run")

        def draw() -> bytes:
            result = picture.make()
            if isinstance(result, Missing):
                return b""
            png = result.png(DPI)
            result.close()
            return png

        png = drawn.get((name, run_id, figure, catalog.stamp(entry)), draw)
        if not png:
            raise HTTPException(404, "the run did not measure what this figure shows")
        return Response(png, media_type="image/png")

    @app.get("/r/{name}/run/{run_id}/file/{file}")
    def download(name: str, run_id: str, file: str) -> FileResponse:
        found = catalog.files(entry_of(name), run_id).get(file)
        if found is None:
            raise HTTPException(404, "there is no such file of this run")
        return FileResponse(found.path, filename=f"{run_id}.{found.name}")

    return app


def _told(runs: Sequence[Observed]) -> dict[str, Any]:
    """What an entry is, in a few words."""
    questions = list(dict.fromkeys(run.question for run in runs))
    written = sorted(str(run.manifest.get("written_at") or "") for run in runs)
    return {
        "experiments": sorted({run.experiment for run in runs}),
        "question": questions[0] if len(questions) == 1 else None,
        "good": sum(run.ok for run in runs),
        "failed": sum(not run.ok for run in runs),
        "newest": written[-1] if written else "",
    }


def _report(runs: Sequence[Observed], name: str) -> bytes:
    """The page that `narrows report` writes."""
    with TemporaryDirectory() as folder:
        return build(runs, name, Path(folder)).html.read_bytes()


class _Drawn:
    """What was drawn, the newest kept; one thing is drawn at a time, because matplotlib's state is one."""

    def __init__(self) -> None:
        self._kept: dict[Any, bytes] = {}
        self._lock = Lock()

    def get(self, key: Any, make: Callable[[], bytes]) -> bytes:
        """The bytes of a key, made when they are first asked for."""
        with self._lock:
            if key not in self._kept:
                while len(self._kept) >= DRAWN_MOST:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = make()
            return self._kept[key]


def _environment() -> Environment:
    pages = environment(ChoiceLoader([PackageLoader("narrows.serve", "templates"), REPORT]))
    pages.filters["number"] = number
    return pages
