"""`narrows claims`: the verdict on each claim of the paper, with the numbers it rests on."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from narrows.cli.format import counted
from narrows.errors import UsageError


class Format(StrEnum):
    """How the ledger is printed."""

    table = "table"
    json = "json"
    md = "md"


COLOURS = {
    "holds": "green",
    "holds in part": "yellow",
    "does not hold here": "red",
    "not testable here": "blue",
    "not measured": "bright_black",
}
NUMBERS_IN_TABLE = 4
PLACES = (Path("evidence"), Path("results"))
"""Where runs are looked for: those that the repository keeps, and those that were made here."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def claims(
        only: Annotated[list[str] | None, typer.Argument(metavar="[R1 C2 …]", help="Default: all.")] = None,
        results: Annotated[
            list[Path] | None,
            typer.Option(
                help="A directory of results, one with several or with shards, or a shard; may be given more "
                "than once. Default: evidence and results, as far as they are here."
            ),
        ] = None,
        form: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.table,
        write: Annotated[
            Path | None,
            typer.Option(
                help="Also write it as Markdown to this file; what it says of claims without runs stays."
            ),
        ] = None,
    ) -> None:
        """Judge the claims from stored results. Runs nothing.

        R: Ray et al. on AQM and speed tests; C: an operator's capacity test; T: fairness at scale.

        \b
          narrows claims                          # all, from evidence/ and results/
          narrows claims C2 C3 --format md        # two, with all their numbers
          make claims C="c2 c3" SEEDS=0,1         # makes their runs first
          narrows claims --results results        # only from the runs that were made here
        """
        from narrows.runs.find import runs_below
        from narrows.studies.ledger import CLAIMS, judge_all, sample, to_json, to_markdown
        from narrows.studies.verdict import Verdict

        known = [module.CLAIM.id for module in CLAIMS]
        for name in only or []:
            if name.upper() not in known:
                raise UsageError(f"no claim {name}", remedy=f"known: {', '.join(known)}")
        remedy = (
            "narrows run experiments/r01_underuse_without_burst.py makes one; --results DIR names another"
        )
        roots = [root for root in PLACES if root.exists()] if results is None else results
        if not roots:
            raise UsageError("neither evidence nor results is a directory here", remedy=remedy)
        for root in roots:
            if not root.exists():
                raise UsageError("no such directory of results", where=str(root), remedy=remedy)
        runs = runs_below(roots)
        verdicts = judge_all(runs, only or [])
        if write is not None:
            old = write.read_text(encoding="utf-8") if write.exists() else ""
            write.write_text(to_markdown(verdicts, sample(runs), old), encoding="utf-8")
        if form is Format.json:
            typer.echo(to_json(verdicts), nl=False)
            return
        if form is Format.md:
            typer.echo(to_markdown(verdicts, sample(runs)), nl=False)
            return
        console = Console(highlight=False)
        table = Table(show_lines=True)
        for column in ("claim", "verdict", "what it rests on"):
            table.add_column(column)

        def rests_on(v: Verdict) -> str:
            shown = [f"· {n}" for n in v.numbers[:NUMBERS_IN_TABLE]]
            left = len(v.numbers) - NUMBERS_IN_TABLE
            if left > 0:
                shown.append(f"· {left} more numbers: --format md")
            return "\n".join([v.reason, *shown, counted(len(v.run_ids), "run") if v.run_ids else ""]).strip()

        for v in verdicts:
            word = f"[{COLOURS[v.verdict]}]{v.verdict}[/]"
            table.add_row(
                f"{v.claim.id} {v.claim.text} ({v.claim.source})", word, rests_on(v).replace("[", "\\[")
            )
        console.print(table)
        console.print("\n".join(sample(runs)))
