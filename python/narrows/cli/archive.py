"""`narrows archive RESULTS… --out FILE`: keeps what verdicts rest on in a new shard."""

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.format import counted
from narrows.errors import UsageError


def archive(
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULTS", help="Directories of results, or shards.")
    ],
    out: Annotated[Path, typer.Option(help="The new shard; its name ends in .runs.parquet.")],
    study: Annotated[
        str, typer.Option("--for", metavar="STUDY", help="Only the numbers that this study's claims ask for.")
    ] = "",
) -> None:
    """Keep runs without their packets, in a small file that is never changed again.

    \b
      narrows archive results/mine --out evidence/mine/first.runs.parquet
      narrows archive results/m* --out evidence/mine/second.runs.parquet
      narrows archive results/outcomes --for outcomes --out evidence/outcomes/first.runs.parquet
      narrows claims --results evidence
      narrows report evidence/mine --out report

    It has each run's plan, what carried it out, the numbers that verdicts ask for and, of captures, what
    narrows paths says of them: about a kilobyte a run. Readers take all shards below a directory, so a
    new batch is a new file. Failed runs are left out, and so are runs without a speed test, a probe, a
    flow tap or a capture. With --for a run has only what the claims of that study read of it today,
    and a medium below IP not the turns of its schedule, most of its plan, unless a verdict rests on them.
    """
    from narrows.paths.of_runs import with_logs
    from narrows.runs import archive as file
    from narrows.runs.find import imported_below, runs_below
    from narrows.studies.asked import only_asked
    from narrows.studies.find import study as known

    if not out.name.endswith(file.SUFFIX):
        raise UsageError("not the name of a shard", where=str(out), remedy=f"end it in {file.SUFFIX}")
    if out.exists():
        raise UsageError(
            "the shard is there already, and a shard is never rewritten",
            where=str(out),
            remedy="give the new batch a name of its own: readers take all shards",
        )
    if not out.absolute().parent.is_dir():
        raise UsageError("no such directory", where=str(out.parent), remedy=f"mkdir -p {out.parent}")
    for directory in results:
        if not directory.exists():
            raise UsageError("no such directory of results", where=str(directory))
    if study:
        known(study)
    runs, imported = runs_below(results), imported_below(results)
    if imported and not runs:
        raise UsageError(
            f"{counted(imported, 'run')} imported from Flent, no other: a shard holds runs with a plan",
            where=", ".join(map(str, results)),
            remedy="keep the files that they were imported from",
        )
    runs = with_logs(runs)
    kept = file.write(only_asked(runs, study) if study else runs, out)
    left = f", {len(runs) - kept} left out" if len(runs) > kept else ""
    left += f", {counted(imported, 'run')} imported from Flent left out" if imported else ""
    typer.echo(f"{counted(kept, 'run')}{left}, {out.stat().st_size / 1e3:.0f} kB: {out}")
