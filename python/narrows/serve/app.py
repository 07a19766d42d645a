"""The site: pages that scripts make livelier and none needs, nothing from elsewhere, read only.

Every name in an address is looked up in the catalog, and an unknown one is "not found"; no path is made of it
and no command is run. Here is what all pages share; `of_results` and `of_run` have those of a directory of
results and of a run.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.middleware.trustedhost import TrustedHostMiddleware
from fastapi.responses import FileResponse, HTMLResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from narrows.errors import NarrowsError
from narrows.report import over_time
from narrows.serve import of_results, of_run
from narrows.serve.shared import Shared
from narrows.studies.judged import judged
from narrows.studies.ledger_picture import picture as ledger_picture

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; style-src 'self' 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
STATIC = {**over_time.SCRIPTS, **over_time.STYLES, "site.js": Path(__file__).parent / "client/site.js"}
LOOK_S = 1.0
"""How often it is looked whether anything has changed, while a page waits for it."""
EVENTS = "/events"


def site(root: Path, hosts: Sequence[str]) -> FastAPI:
    """The application. `hosts` are the names that a browser may call it by (`*`: any)."""
    # No pages of FastAPI's own: they load scripts from elsewhere.
    app = FastAPI(title="narrows", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(_Heads)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    shared = Shared(root)

    @app.middleware("http")
    async def guarded(request: Request, further: Callable[[Request], Awaitable[Response]]) -> Response:
        response = await further(request)
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(StarletteHTTPException)
    async def refused(request: Request, error: StarletteHTTPException) -> Response:
        return shared.render(
            "problem.html.j2", status=error.status_code, title="Not here", problem=str(error.detail)
        )

    @app.exception_handler(NarrowsError)
    async def failed(request: Request, error: NarrowsError) -> Response:
        return shared.render("problem.html.j2", status=500, title="This cannot be shown", problem=str(error))

    @app.get("/")
    def index() -> HTMLResponse:
        pulse = shared.catalog.pulse()
        return shared.render(
            "index.html.j2",
            pulse=pulse,
            found=of_results.told_of_all(shared),
            pages=shared.catalog.pages().values(),
        )

    @app.get("/page/{name}")
    def page(name: str) -> FileResponse:
        known = shared.catalog.pages()
        if name not in known:
            raise HTTPException(404, "there is no such page")
        return FileResponse(known[name].path, media_type="text/html")

    @app.get("/ledger")
    def ledger() -> HTMLResponse:
        entries = list(shared.catalog.entries().values())

        def draw() -> bytes:
            found = judged([entry.path for entry in entries])
            known = [v for v in found.verdicts if v.verdict != "not measured"]
            silent = len(found.verdicts) - len(known)
            picture = ledger_picture(known)
            page = shared.render(
                "ledger.html.j2", verdicts=known, silent=silent, told=found.measured, picture=picture,
                damaged=[f"{path.parent.name}: {path.name}: {why}" for path, why in found.left_out],
            )  # fmt: skip
            picture.close()
            return bytes(page.body)

        return HTMLResponse(shared.drawn.get(("ledger", *map(shared.catalog.stamp, entries)), draw))

    @app.head(EVENTS)
    @app.get(EVENTS)
    async def events(request: Request, since: Annotated[str, Query(max_length=64)] = "") -> Response:
        """Says `changed` whenever a list of runs is another than it was."""

        async def told() -> AsyncIterator[str]:
            last = since
            yield ": it is looked once a second\n\n"
            while not await request.is_disconnected():
                now = await run_in_threadpool(shared.catalog.pulse)
                if now != last:
                    last = now
                    yield "event: changed\ndata: \n\n"
                await asyncio.sleep(LOOK_S)

        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(told(), media_type="text/event-stream")

    @app.get("/favicon.ico")
    def icon() -> Response:
        return Response(status_code=204)

    @app.get("/static/{file}")
    def static(file: str) -> FileResponse:
        if file not in STATIC or not STATIC[file].is_file():
            raise HTTPException(404, "there is no such file")
        kind = "text/javascript" if file.endswith(".js") else "text/css"
        return FileResponse(STATIC[file], media_type=kind)

    of_results.add(app, shared)
    of_run.add(app, shared)
    return app


class _Heads:
    """Answers HEAD as GET without a body, for every page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or scope["path"] == EVENTS:
            await self._app(scope, receive, send)
            return

        async def headers_only(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self._app({**scope, "method": "GET"}, receive, headers_only)
