"""`narrows list [DIR]`: which results there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli import format as formats
from narrows.cli.format import MISSING, Format
from narrows.errors import StoreError

DEFAULT = Path("results")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(name="list")
    def list_(
        directory: Annotated[
            Path, typer.Argument(metavar="DIR", help="An experiment's results, or a directory of such.")
        ] = DEFAULT,
        format: Annotated[Format, typer.Option(help="How to print it.")] = Format.table,
    ) -> None:
        """List runs, or experiments.

        \b
          narrows list                            # the experiments below results/
          narrows list results/hello              # the runs of one, failed ones too
        """
        from narrows.store.results import Results

        console = formats.console()
        results = Results(directory)
        runs = results.runs()
        if runs.height:
            fixed = ("virtual_s", "wall_s", "error")
            axes = runs.columns[3 : runs.columns.index("question")]
            shown = ["run_id", "status", *axes, *fixed]
            formats.show(console, format, shown, runs.select(shown).rows())
            return
        rows = []
        for path in sorted(directory.iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                below = Results(path)
                inner = below.runs()
                if inner.height:
                    ok = inner.filter(status="ok").height
                    wall = float(inner["wall_s"].sum())
                    question = inner["question"][0] or MISSING
                    took = formats.duration(wall) if format is Format.table else wall
                    rows.append([str(path), ok, inner.height - ok, took, formats.cell(question)])
        if not rows:
            raise StoreError("no results there", where=str(directory), remedy="narrows run FILE makes some")
        wall_time = "wall time" if format is Format.table else "wall_s"
        formats.show(console, format, ["directory", "runs", "failed", wall_time, "question"], rows)
