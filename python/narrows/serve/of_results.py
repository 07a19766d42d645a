"""Pages of a directory of results: its runs by conditions, its answer, maps, changes, report and table."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse

from narrows.comparing.conditions import REPETITION, axes, labels
from narrows.comparing.repetitions import independent
from narrows.errors import NarrowsError
from narrows.report.build import build
from narrows.report.table import summary, to_csv
from narrows.runs.observed import Observed, label
from narrows.serve import heat as heats
from narrows.serve.answers import Said
from narrows.serve.catalog import Brief
from narrows.serve.changes import iterations, moves, steps
from narrows.serve.listing import Told, listing, told
from narrows.serve.pairs import OPEN, pair_maps, style, where
from narrows.serve.shared import Shared
from narrows.spec.pairs import PAIR

ALL = "all together"
"""Of an axis that a map does not show: its labels pooled, because somebody asked for it."""
FILTERS_MOST = 200
Found = tuple[Told | None, Said | None, str, str]


def told_of_all(shared: Shared) -> list[Found]:
    """What each directory is, its answer if that is known, its name, and why it cannot be shown; first those
    where something runs, then the newest."""
    found: list[Found] = []
    for entry in shared.catalog.entries().values():
        try:
            said = shared.answers.known(entry)  # first: who answers finds what cannot be read
            found.append((told(shared.catalog, entry), said, entry.name, ""))
        except (NarrowsError, OSError) as error:
            found.append((None, None, entry.name, str(error)))
    found.sort(key=lambda each: each[2])
    found.sort(key=lambda each: each[0].newest if each[0] else "", reverse=True)
    found.sort(key=lambda each: each[0] is None or each[0].running is None)
    return found


def add(app: FastAPI, shared: Shared) -> None:
    catalog = shared.catalog

    @app.get("/r/{name}")
    def results(name: str, request: Request) -> HTMLResponse:
        pulse, entry = catalog.pulse(), shared.entry(name)
        runs = catalog.briefs(entry)
        wanted = {axis: text for axis, text in request.query_params.items() if text}
        known = listing(runs, wanted) if len(wanted) < FILTERS_MOST else None
        if known is None:
            raise HTTPException(404, "these runs have no such axis or label")
        said, watched = shared.answers.known(entry, drawn=True), iterations(entry)
        there = told(catalog, entry)
        return shared.render(
            "results.html.j2", pulse=pulse, entry=entry, told=there, known=known,
            mapped=_can_be_mapped(runs), said=said,
            met=any(PAIR in run.key for run in runs if run.ok), watched=watched,
        )  # fmt: skip

    @app.get("/r/{name}/answer")
    def answered(name: str) -> HTMLResponse:
        return shared.render("answer.html.j2", said=shared.answers.of(shared.entry(name), drawn=True))

    @app.get("/r/{name}/line")
    def line(name: str) -> HTMLResponse:
        return shared.render("line.html.j2", said=shared.answers.of(shared.entry(name)))

    @app.get("/r/{name}/report")
    def report(name: str) -> HTMLResponse:
        entry = shared.entry(name)
        runs = catalog.runs(entry)
        text = shared.drawn.get((name, "report", catalog.stamp(entry)), lambda: _report(runs, entry.called))
        return HTMLResponse(text)

    @app.get("/r/{name}/table.csv")
    def table(name: str) -> Response:
        good, _ = independent([run for run in catalog.runs(shared.entry(name)) if run.ok])
        return Response(to_csv(summary(good)), media_type="text/csv")

    @app.get("/r/{name}/heat")
    def heat(
        name: str, request: Request, quantity: Annotated[str, Query(max_length=200)] = ""
    ) -> HTMLResponse:
        entry = shared.entry(name)
        good, _ = independent([run for run in catalog.runs(entry) if run.ok])
        asked = request.query_params
        known, of = heats.map_axes(good), heats.quantities(good)
        if len(known) < 2 or not of:
            raise HTTPException(404, "a map needs two axes that tell these runs apart, and a quantity")
        chosen, down = quantity or of[0], asked.get("down") or known[0]
        across = asked.get("across") or next(axis for axis in known if axis != down)
        if chosen not in of or not {down, across} <= set(known) or down == across:
            raise HTTPException(404, "these runs have no such quantity over two such axes")
        others = {axis: labels(good, axis) for axis in known if axis not in (down, across)}
        kept = {axis: asked.get(axis) or texts[0] for axis, texts in others.items()}
        if any(text not in (*others[axis], ALL) for axis, text in kept.items()):
            raise HTTPException(404, "these runs have no such label")
        fixed = tuple((axis, text) for axis, text in kept.items() if text != ALL)
        shown = [run for run in good if all(label(run, axis) == text for axis, text in fixed)]
        return shared.render(
            "heat.html.j2", entry=entry, heat=heats.heat(shown, chosen, down, across), quantities=of,
            axes=known, quantity=chosen, down=down, across=across, others=others, kept=kept, fixed=fixed,
            everything=ALL,
        )  # fmt: skip

    @app.get("/r/{name}/pairs")
    def pairs(name: str) -> HTMLResponse:
        entry = shared.entry(name)
        found = pair_maps(catalog.runs(entry))
        if not found:
            raise HTTPException(404, "no services met in these runs")
        return shared.render("pairs.html.j2", entry=entry, found=found, where=where, style=style, open=OPEN)

    @app.get("/r/{name}/changes")
    def changes(name: str) -> HTMLResponse:
        entry = shared.entry(name)
        known = iterations(entry)
        if not known:
            raise HTTPException(404, "these runs are no iteration of narrows watch")
        at = {one.path: one for one in catalog.entries().values()}
        runs = [catalog.runs(at[one.runs]) if one.runs in at else [] for one in known]
        return shared.render(
            "changes.html.j2", entry=entry, known=known, found=steps(known, runs), moved=moves(known, runs)
        )

    @app.get("/r/{name}/cell")
    def cell(name: str, request: Request) -> HTMLResponse:
        entry = shared.entry(name)
        wanted = dict(request.query_params)
        briefs = catalog.briefs(entry)
        known = axes(briefs)
        if not wanted or not set(wanted) <= set(known):
            raise HTTPException(404, f"runs are chosen by these axes: {', '.join(known)}")
        chosen = [run for run in briefs if all(run.label(axis) == text for axis, text in wanted.items())]
        if any(axis not in run.key for run in briefs for axis in wanted):
            # What a run is on an axis that its experiment does not have, its plan says.
            ids = _labelled(catalog.runs(entry), wanted)
            chosen = [run for run in briefs if run.run_id in ids]
        return shared.render("cell.html.j2", entry=entry, wanted=wanted, runs=chosen, axes=known)


def _labelled(runs: Sequence[Observed], wanted: dict[str, str]) -> set[str]:
    return {run.run_id for run in runs if all(label(run, axis) == text for axis, text in wanted.items())}


def _can_be_mapped(runs: Sequence[Brief]) -> bool:
    """Two axes tell those runs apart that a map is made of: the good ones."""
    good = [run for run in runs if run.ok]
    known = [axis for axis in axes(good) if axis != REPETITION]
    return len([axis for axis in known if len({run.label(axis) for run in good}) > 1]) > 1


def _report(runs: Sequence[Observed], name: str) -> bytes:
    """The page that `narrows report` writes."""
    with TemporaryDirectory() as folder:
        return build(runs, name, Path(folder), site="/static").html.read_bytes()
