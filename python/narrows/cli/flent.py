"""`narrows flent export RUN FILE` and `narrows flent import FILE DIR`: Flent's data files."""

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.named_run import find_run
from narrows.errors import UsageError


def register(app: typer.Typer) -> None:
    group = typer.Typer(
        name="flent", help="Data files of Flent: write ours for its GUI, read theirs.", no_args_is_help=True
    )
    app.add_typer(group)

    @group.command("export")
    def export(
        run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id (its beginning) or directory.")],
        file: Annotated[Path, typer.Argument(metavar="FILE", help="To write, such as run.flent.gz.")],
        directory: Annotated[
            Path | None, typer.Option("--dir", help="The directory of results that holds the run.")
        ] = None,
    ) -> None:
        """Write a run as a data file that Flent opens.

        \b
          narrows flent export 3fa1 run.flent.gz
          flent-gui run.flent.gz
          flent -i run.flent.gz                   # its summary

        The file names the test of Flent's whose plots fit: rrul and rrul_be for those tools, rrul_be_nflows
        for flows both ways, tcp_ndown and tcp_nup for one, ping for probes alone.
        """
        from narrows.flent.export import export as exported
        from narrows.flent.file import SUFFIX, write

        if not file.name.endswith(SUFFIX):
            raise UsageError(
                f"{file}: Flent knows its files by their ending", remedy=f"a name that ends in {SUFFIX}"
            )
        results, run_id = find_run(run, directory)
        made = exported(results, run_id)
        write(made, file)
        typer.echo(f"{file}: {len(made.results)} series of run {run_id} as Flent's test {made.name}")
        for note in made.notes:
            typer.echo(f"  {note}")

    @group.command("import")
    def import_(
        file: Annotated[Path, typer.Argument(metavar="FILE", help="A data file of Flent 2.x.")],
        out: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of results to add it to.")],
    ) -> None:
        """Read a data file of Flent as a run whose samples can be queried.

        \b
          narrows flent import theirs.flent.gz results/flent
          narrows query results/flent "select item, quantity, median(value), unit from samples group by all"

        An older file (format versions 1 to 3) is refused with the command by which Flent converts it.
        """
        from narrows.engine import layout
        from narrows.flent.import_ import import_file

        run_id = import_file(file, out)
        typer.echo(f"{out}/{run_id}")
        manifest = layout.read_manifest(layout.run_dir(out, run_id)) or {}
        for warning in manifest.get("warnings", []):
            typer.echo(f"  {warning}")
