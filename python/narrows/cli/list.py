"""`narrows list [DIR]`: which results there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.format import MISSING, cell, duration, table
from narrows.cli.format import console as make_console
from narrows.errors import StoreError

DEFAULT = Path("results")


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command(name="list")
    def list_(
        directory: Annotated[
            Path, typer.Argument(metavar="DIR", help="An experiment's results, or a directory of such.")
        ] = DEFAULT,
    ) -> None:
        """List runs, or experiments.

        \b
          narrows list                            # the experiments below results/
          narrows list results/hello              # the runs of one, failed ones too
        """
        from narrows.store.results import Results

        console = make_console()
        results = Results(directory)
        runs = results.runs()
        if runs.height:
            fixed = ("virtual_s", "wall_s", "error")
            axes = runs.columns[3 : runs.columns.index("question")]
            shown = ["run_id", "status", *axes, *fixed]
            console.print(table(shown, runs.select(shown).rows()))
            return
        rows = []
        for path in sorted(directory.iterdir()):
            if path.is_dir() and not path.name.startswith("."):
                inner = Results(path).runs()
                if inner.height:
                    ok = inner.filter(status="ok").height
                    wall = float(inner["wall_s"].sum())
                    question = inner["question"][0] or MISSING
                    rows.append([str(path), ok, inner.height - ok, duration(wall), cell(question)])
        if not rows:
            raise StoreError("no results there", where=str(directory), remedy="narrows run FILE makes some")
        console.print(table(["directory", "runs", "failed", "wall time", "question"], rows))
