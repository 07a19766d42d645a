"""`narrows report DIR`: figures and one self-contained HTML file."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from narrows.cli.answer_view import say_answer
from narrows.cli.format import counted
from narrows.errors import UsageError


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory of results, a shard, or one with several.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where to write; default: DIR/report, of shards report.")
    ] = None,
    figure: Annotated[
        list[str] | None,
        typer.Option(help="Also: 'QUANTITY against AXIS, by AXIS'. Quantities are those of table.csv."),
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Write every figure as PNG and PDF too, for a paper.")
    ] = False,
) -> None:
    """Draw what the runs of a directory showed.

    \b
      narrows report results/many --figure "share by cca against base_rtt, by queue"
      narrows report results/hello            # results/hello/report/report.html
      narrows report results/hello --out DIR  # there instead
      narrows report mine.runs.parquet        # of a shard, or of all shards of a directory

    One self-contained HTML file that begins with its answer, and beside it the table as CSV; with
    --figures also every figure as PNG and PDF. It ends with the same answer and the page's path.
    """
    # Matplotlib takes half a second to import: only this command pays for it.
    from narrows.report.build import build
    from narrows.runs.find import holds_runs, imported_below, runs_below

    console = Console(stderr=True, highlight=False)
    with console.status("reading") as status:
        runs = runs_below([directory], lambda number: status.update(f"reading: {number} runs"))
    imported = imported_below([directory])
    if imported and not runs:
        raise UsageError(
            f"{counted(imported, 'run')} imported from Flent, and no other: a report needs a plan",
            where=str(directory),
            remedy=f'narrows query {directory} "select item, hop, quantity, median(value) from samples '
            'group by all"',
        )
    if not runs:
        raise UsageError(
            "there is no run in this directory",
            where=str(directory),
            remedy="narrows run FILE makes runs; narrows list shows where they are",
        )
    with console.status("drawing") as status:
        built = build(
            runs,
            directory.resolve().name,
            out or (directory / "report" if holds_runs(directory) else Path("report")),
            lambda name: status.update(f"drawing {name}"),
            figure or (),
            files=figures,
        )
    good = sum(run.ok for run in runs)
    if imported:
        console.print(f"left out: {counted(imported, 'run')} imported from Flent, which have no plan")
    drawn = f"{counted(len(built.figures) // 3, 'figure')} as PNG and PDF; " if figures else ""
    console.print(
        f"{counted(good, 'run')}, {len(runs) - good} failed; {drawn}not drawn: {len(built.missing)}"
    )
    say_answer(console, built.answer)
    typer.echo(str(built.html))
