"""`narrows claims`: the verdict on each claim of the studies, with the numbers it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from narrows import data
from narrows.cli.format import counted
from narrows.errors import UsageError

if TYPE_CHECKING:
    from narrows.judging.verdict import Verdict


class Format(StrEnum):
    table = "table"
    json = "json"
    md = "md"


COLOURS = {
    "holds": "green",
    "holds in part": "yellow",
    "does not hold here": "red",
    "not testable here": "blue",
    "not judged": "bright_black",
    "not measured": "bright_black",
}
NUMBERS_IN_TABLE = 4
EVIDENCE, RESULTS = Path("evidence"), Path("results")
"""Where runs are looked for: those that come with narrows (here, else in the package) and those made here."""


def claims(
    only: Annotated[
        list[str] | None, typer.Argument(metavar="[R1 c2 …]", help="In any spelling; default: all.")
    ] = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            help="A directory of results, one with several or with shards, or a shard; may be given more "
            "than once. Default: evidence and results, as far as they are here."
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to print them.")] = Format.table,
    write: Annotated[
        Path | None,
        typer.Option(help="Also write the ledger to this file; rows of claims without runs stay."),
    ] = None,
) -> None:
    """Judge claims from stored results. Runs nothing; narrows study makes the runs.

    \b
      narrows claims                          # all, from evidence/ and results/
      narrows claims C2 c03 --format md       # two, with all their numbers
      narrows claims --results results        # only from the runs that were made here
    """
    from narrows.studies.judged import judged

    remedy = "narrows study aqm makes one; --results DIR names another"
    kept = EVIDENCE if EVIDENCE.is_dir() else data.at("evidence")
    roots = [root for root in (kept, RESULTS) if root.exists()] if results is None else results
    if not roots:
        raise UsageError("neither evidence nor results is a directory here", remedy=remedy)
    for root in roots:
        if not root.exists():
            raise UsageError("no such directory of results", where=str(root), remedy=remedy)
    found = judged(roots, only or ())
    if write is not None:
        from narrows.studies.ledger import to_ledger

        old = write.read_text(encoding="utf-8") if write.exists() else ""
        ledger = to_ledger(found.verdicts, found.measured, ", ".join(map(str, roots)), old)
        write.write_text(ledger, encoding="utf-8")
    if form is not Format.table:
        from narrows.studies.ledger import to_json, to_markdown

        write_out = to_json if form is Format.json else to_markdown
        typer.echo(write_out(found.verdicts), nl=False)
        return
    console = Console(highlight=False)
    print_verdicts(console, found.verdicts)
    lines = [f"runs of {name}: {words}" for name, words in found.measured.items()]
    console.print("\n".join(lines or ["no run decides any of these"]))


def print_verdicts(console: Console, verdicts: Sequence[Verdict]) -> None:
    """A table of claims, verdicts and what they rest on."""
    table = Table(show_lines=True)
    for column in ("claim", "verdict", "what it rests on"):
        table.add_column(column)
    for v in verdicts:
        word = f"[{COLOURS[v.verdict]}]{v.verdict}[/]"
        claim = f"{v.claim.id} {v.claim.text} ({v.claim.source})"
        table.add_row(claim, word, _rests_on(v).replace("[", "\\["))
    console.print(table)


def _rests_on(v: Verdict) -> str:
    shown = [f"· {n}" for n in v.numbers[:NUMBERS_IN_TABLE]]
    left = len(v.numbers) - NUMBERS_IN_TABLE
    if left > 0:
        shown.append(f"· {left} more numbers: narrows claims {v.claim.id} --format md")
    return "\n".join([v.reason, *shown, counted(len(v.run_ids), "run") if v.run_ids else ""]).strip()
