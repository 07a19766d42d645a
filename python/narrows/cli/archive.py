"""`narrows archive RESULTS… --out FILE`: keeps what verdicts on many flows rest on in one small file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.format import counted
from narrows.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def archive(
        results: Annotated[list[Path], typer.Argument(metavar="RESULTS", help="Directories of results.")],
        out: Annotated[Path, typer.Option(help="The archive; its name ends in .runs.parquet.")],
        add: Annotated[
            bool, typer.Option("--add", help="Add to the archive, if it is there already.")
        ] = False,
    ) -> None:
        """Keep runs of many flows in one small file, without their packets.

        \b
          narrows archive results/mine --out mine.runs.parquet
          narrows archive results/m* --out mine.runs.parquet --add
          narrows report mine.runs.parquet --out report

        It has each run's plan, what carried it out, its metrics and its flows: some kilobytes of a run of ten
        flows. Failed runs and runs without a flow tap are left out.
        """
        from narrows.runs import archive as file
        from narrows.runs.load import load

        if not out.name.endswith(file.SUFFIX):
            raise UsageError("not the name of an archive", where=str(out), remedy=f"end it in {file.SUFFIX}")
        if out.exists() and not add:
            raise UsageError("the archive is there already", where=str(out), remedy="--add adds to it")
        if not out.absolute().parent.is_dir():
            raise UsageError("no such directory", where=str(out.parent), remedy=f"mkdir -p {out.parent}")
        old = load(out) if out.exists() else []
        new = [run for directory in results for run in load(directory)]
        kept = file.write(file.merged(old, new), out)
        typer.echo(f"{counted(kept, 'run')} ({len(old)} before), {out.stat().st_size / 1e3:.0f} kB: {out}")
