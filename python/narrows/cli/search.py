"""`narrows search EXPERIMENT --over AXES --metric M`: run the conditions where behaviour changes most."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.cli.experiment import EXPERIMENT_HELP
from narrows.cli.format import console as make_console
from narrows.cli.format import counted, key, table
from narrows.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.plan.model import Plan
    from narrows.search.search import Make, Search

FIGURE = "search.png"


def search(
    file: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help=EXPERIMENT_HELP)],
    over: Annotated[str, typer.Option(metavar="AXES", help="Axes to search over: rtt,buffer.")],
    metric: Annotated[
        list[str], typer.Option(metavar="[SOURCE:]FIGURE", help="What may change; may be given again.")
    ],
    only: Annotated[str | None, typer.Option(help="Labels of the other axes: 'cca=bbr'.")] = None,
    budget: Annotated[int, typer.Option(min=2, help="The most points (conditions).")] = 40,
    tolerance: Annotated[
        str | None, typer.Option(help="Stop when points come as predicted: '5 %' of the range.")
    ] = None,
    check: Annotated[
        int, typer.Option(min=0, help="Then run so many points more, and as fine a grid, to see the error.")
    ] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once; default: one per core.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where results go; default: results/<experiment>.")] = None,
    engine: Annotated[str, typer.Option(help="As for narrows run.")] = "uml",
) -> None:
    """Run an experiment where its metrics change most, instead of on a grid.

    The axes are spans, axis("rtt", between("2 ms", "200 ms")), or lists to choose from. A point is one
    condition; its value is the median over repeat(). What is there is not run again, so the same command
    goes on after an interruption.

    \b
      narrows search FILE --over rtt --metric flow:bulk_goodput_bps --budget 16
      narrows search FILE --over rtt,buffer --metric ndt7_throughput_bps --only cca=bbr --tolerance '5 %'
      narrows search FILE --over buffer --metric bbr:bulk_goodput_bps --budget 12 --check 40
    """
    from narrows.search.search import Metric, Search
    from narrows.spec.named import experiment_file

    file = experiment_file(file)
    at_once = jobs or len(os.sched_getaffinity(0))
    found = Search(
        file,
        out or Path("results") / file.stem,
        [word.strip() for word in over.split(",") if word.strip()],
        [Metric.parse(each) for each in metric],
        only=only,
        at_once=at_once,
    )
    allowed = _share(tolerance)
    console = make_console()
    make = _maker(console, found.directory, engine, at_once, f"narrows search {file}")
    for batch in found.batches(make, budget, allowed):
        for point in batch:
            _tell(console, found, point)
    _conclude(console, found, allowed)
    if check:
        _check(console, found, check, make)


def _share(text: str | None) -> float | None:
    from narrows.errors import UnitError
    from narrows.spec.parsers import Wrong, percent

    if text is None:
        return None
    try:
        share: float = percent(text)
    except (Wrong, UnitError) as error:
        raise UsageError(f"--tolerance: {error.message}", remedy=error.remedy) from None
    if not share:
        raise UsageError("--tolerance: nothing is known exactly", remedy="such as '5 %'")
    return share / 100


def _maker(console: Console, directory: Path, engine: str, jobs: int, again: str) -> Make:
    """Makes the runs of some points, as narrows run does; a failed run is a missing repetition."""
    from narrows.cli.run import carry_out
    from narrows.engine.choose import make_engine
    from narrows.engine.runner import Runner
    from narrows.engine.types import Limits
    from narrows.store.finish import FinishPool

    chosen, limits = make_engine(engine), Limits()

    def make(plans: list[Plan]) -> Mapping[str, Plan]:
        with FinishPool(jobs) as finish:
            runner = Runner(chosen, plans, directory, finish, jobs=jobs, limits=limits, keep_order=True)
            carry_out(console, runner, directory, again)
            return runner.plans

    return make


def _tell(console: Console, search: Search, point: Any) -> None:
    said = []
    for metric, value, guess in zip(search.metrics, point.values, point.predicted, strict=True):
        unit = search.units.get(metric, "")
        shown = "no value" if value is None else f"{value:.5g} {unit}"
        said.append(f"{metric} {shown}" + ("" if guess is None else f" (predicted {guess:.5g})"))
    console.print(f"point {search.points.index(point) + 1}: {key(point.labels)}: {'; '.join(said)}")


def _conclude(console: Console, search: Search, tolerance: float | None) -> None:
    from narrows.search.breaks import breaks
    from narrows.search.draw import draw
    from narrows.search.search import FILE

    surprise = search.surprise()
    known = sum(point.known for point in search.points)
    console.print(f"{counted(len(search.points), 'point')}, {known} with a value")
    if surprise is not None:
        verdict = ""
        if tolerance is not None:
            reached = "known to" if search.is_known(tolerance) else "not known to"
            verdict = f": {reached} {100 * tolerance:g} %, and the budget is spent" * (
                surprise > tolerance
            ) or (f": {reached} {100 * tolerance:g} %")
        console.print(f"the latest points were predicted within {100 * surprise:.2g} % of the range{verdict}")
    for index, metric in enumerate(search.metrics):
        points = [p for p in search.points if p.values[index] is not None]
        values = [v for p in points if (v := p.values[index]) is not None]
        rows = []
        for one in breaks([p.place for p in points], values):
            a, b = points[one.first], points[one.second]
            rows.append(
                [key(a.labels), values[one.first], key(b.labels), values[one.second],
                 round(100 * one.change, 1), round(one.steepness, 1)]
            )  # fmt: skip
        unit = search.units.get(metric, "")
        if rows:
            console.print(f"{metric} ({unit}) breaks between")
            console.print(table(["here", "is", "and here", "is", "% of range", "steepness"], rows))
        else:
            console.print(f"{metric} ({unit}): no break; it changes evenly, or not at all")
    if known:
        file = search.directory / FIGURE
        draw(search).savefig(file, dpi=150)
        console.print(f"the surface: {file}; the points: {search.directory / FILE}")


def _check(console: Console, search: Search, number: int, make: Make) -> None:
    from narrows.search.check import check

    rows = []
    for metric, found in zip(search.metrics, check(search, number, make), strict=True):
        for name, errors in (("search", found.search), ("grid", found.grid)):
            mean, largest = round(100 * errors.mean, 2), round(100 * errors.largest, 2)
            rows.append([str(metric), name, errors.points, mean, largest, found.at])
    console.print(table(["metric", "surface of", "points", "mean error %", "largest %", "checked at"], rows))
