"""Pages of one run: what it was and measured, its series over time, its pictures and files."""

from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse

from narrows.figures.drawing import Missing
from narrows.figures.over_time import over_time
from narrows.report.over_time import is_there, to_json
from narrows.serve import one_run
from narrows.serve.listing import names
from narrows.serve.shared import Shared


def add(app: FastAPI, shared: Shared) -> None:
    catalog = shared.catalog

    @app.get("/r/{name}/run/{run_id}")
    def run(name: str, run_id: str, beside: Annotated[str, Query(max_length=64)] = "") -> HTMLResponse:
        entry = shared.entry(name)
        one = shared.run(entry, run_id)
        other = shared.run(entry, beside) if beside else None
        briefs = catalog.briefs(entry)
        called = names(briefs)
        there = [each.run_id for each in briefs if each.ok and each.run_id != run_id]
        files = list(catalog.files(entry, run_id).values())
        return shared.render(
            "run.html.j2", entry=entry, run=one, other=other, facts=one_run.facts(one),
            figures=one_run.figures(one, other), items=one_run.items(one, other, catalog.met(entry, one)),
            differs=[] if other is None else one_run.differs(one, other), files=files,
            others=[(each, called[each]) for each in there],
            name=called[run_id], name_of_other=called.get(beside, ""),
            pictures={} if entry.is_shard else one_run.pictures(one),
            drawn=one.ok and bool(files) and is_there(),
            commands=[f"{step.node}$ {step.command()}" for step in one.plan.setup if step.tool == "tc"],
        )  # fmt: skip

    @app.get("/r/{name}/run/{run_id}/series")
    def series(
        name: str,
        run_id: str,
        begin: Annotated[int | None, Query(alias="from")] = None,
        end: Annotated[int | None, Query(alias="to")] = None,
    ) -> JSONResponse:
        one = shared.run(shared.entry(name), run_id)
        known = over_time(one, None if begin is None or end is None else (begin, end))
        if known is None:
            raise HTTPException(404, "this run has no series")
        return JSONResponse(to_json(one, known))

    @app.get("/r/{name}/run/{run_id}/figure/{figure}.svg")
    def figure(name: str, run_id: str, figure: str) -> Response:
        entry = shared.entry(name)
        picture = one_run.pictures(shared.run(entry, run_id)).get(figure)
        if picture is None:
            raise HTTPException(404, "there is no such figure of this run")

        def draw() -> bytes:
            result = picture.make()
            if isinstance(result, Missing):
                return b""
            svg = result.vector().alone()
            result.close()
            return svg.encode()

        svg = shared.drawn.get((name, run_id, figure, catalog.stamp(entry)), draw)
        if not svg:
            raise HTTPException(404, "the run did not measure what this figure shows")
        return Response(svg, media_type="image/svg+xml")

    @app.get("/r/{name}/run/{run_id}/file/{file}")
    def download(name: str, run_id: str, file: str) -> FileResponse:
        found = catalog.files(shared.entry(name), run_id).get(file)
        if found is None:
            raise HTTPException(404, "there is no such file of this run")
        return FileResponse(found.path, filename=f"{run_id}.{found.name}")
