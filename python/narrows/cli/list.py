"""`narrows list [DIR]`: which results there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli import format as formats
from narrows.cli.format import MISSING, Format
from narrows.errors import StoreError

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

DEFAULT = Path("results")
MOST_READ = 100
"""Runs whose results are read; more take longer than a person waits for a list."""
UNKNOWN = "narrows report {} works it out"


def list_(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="An experiment's results, or a directory of such.")
    ] = DEFAULT,
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.table,
) -> None:
    """List runs, or experiments.

    \b
      narrows list                            # the experiments below results/, and what came out
      narrows list results/hello              # the runs of one with their results, failed ones too
    """
    from narrows.serve.answers import Answers
    from narrows.serve.catalog import Catalog, Entry
    from narrows.store.results import Results

    console = formats.console()
    runs = Results(directory).runs()
    if runs.height:
        _runs(console, format, directory, runs)
        return
    answers = Answers(Catalog(directory))
    rows = []
    for path in sorted(directory.iterdir()):
        if path.is_dir() and not path.name.startswith("."):
            inner = Results(path).runs()
            if inner.height:
                ok = inner.filter(status="ok").height
                wall = float(inner["wall_s"].sum())
                question = inner["question"][0] or MISSING
                took = formats.duration(wall) if format is Format.table else wall
                said = answers.known(Entry(path.name, path))
                came = UNKNOWN.format(path) if said is None else said.line or MISSING
                rows.append([str(path), ok, inner.height - ok, took, formats.cell(question), came])
    if not rows:
        raise StoreError("no results there", where=str(directory), remedy="narrows run FILE makes some")
    wall_time = "wall time" if format is Format.table else "wall_s"
    formats.show(
        console, format, ["directory", "runs", "failed", wall_time, "question", "what came out"], rows
    )


def _runs(console: Console, format: Format, directory: Path, runs: pl.DataFrame) -> None:
    """The runs of a directory by their conditions; of not too many what each came to."""
    from narrows.comparing.conditions import rank
    from narrows.report.answer import of_each
    from narrows.runs.load import load

    axes = runs.columns[3 : runs.columns.index("question")]
    last = ["virtual_s", "wall_s", "error"]
    good = [run for run in load(directory) if run.ok] if runs.height <= MOST_READ else []
    told = of_each(good)
    digits = "{:.3g}" if format is Format.table else "{!r}"
    by_run = {
        run.run_id: [None if values[n] is None else float(digits.format(values[n])) for _, values in told]
        for n, run in enumerate(good)
    }
    nothing = [None] * len(told)
    if format is Format.table and told:
        last = ["error"] if runs["error"].drop_nulls().len() else []
    rows = [
        [*row[:-1][: len(axes)], *by_run.get(str(row[-1]), nothing), *row[len(axes) : -1], row[-1]]
        for row in runs.select(*axes, "status", *last, "run_id").rows()
    ]
    rows.sort(key=lambda row: [rank(axis, str(text)) for axis, text in zip(axes, row, strict=False)])
    heads = [column.head for column, _ in told]
    formats.show(console, format, [*axes, *heads, "status", *last, "run_id"], rows)
