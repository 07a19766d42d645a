"""Small formats that several commands print: times, keys, tables."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from narrows.errors import UsageError

if TYPE_CHECKING:
    from narrows.judging.written import Told

MISSING = "–"


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"


class Form(StrEnum):
    """How verdicts are printed."""

    table = "table"
    json = "json"
    junit = "junit"
    markdown = "markdown"
    md = "md"
    appendix = "appendix"


FormOption = Annotated[
    Form,
    typer.Option(
        "--format",
        help="Verdicts, alone on stdout: json, junit for CI, markdown for a pull request, md with all "
        "numbers, appendix for an Internet-Draft.",
    ),
]
WIDE = 10_000


def console() -> Console:
    """Where commands print. Into a file or a pipe nothing is folded: a program may read it."""
    made = Console(soft_wrap=True, highlight=False)
    return made if made.is_terminal else Console(soft_wrap=True, highlight=False, width=WIDE)


def called() -> str:
    """The command as it was called."""
    return shlex.join(["narrows", *sys.argv[1:]])


def write(form: Form, told: Told) -> None:
    """Verdicts for others, and nothing else, on stdout."""
    from narrows.judging import written

    typer.echo(getattr(written, f"as_{form}")(told), nl=False)


def refuse_form(form: Form) -> None:
    """Where a call judges nothing."""
    if form is not Form.table:
        raise UsageError(
            f"--format {form}: this call has no verdict", remedy="name one, and leave out --plan"
        )


def duration(seconds: float | None) -> str:
    """`3.2 s`, `4 min 05 s`, `2 h 03 min`."""
    if seconds is None:
        return MISSING
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def counted(number: int, what: str) -> str:
    """`1 run`, `24 runs`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def key(labels: Mapping[str, str]) -> str:
    """`rate=100Mbit queue=fq_codel`, as --only takes it."""
    return " ".join(f"{axis}={label}" for axis, label in labels.items()) or "(one run)"


def cell(value: Any) -> str:
    """A value for people: numbers short, missing as a dash."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def name_damaged(found: Mapping[Path, str]) -> None:
    """Say on stderr which runs, and shards of runs, are left out because they cannot be read."""
    shards = {path for path in found if path.suffix == ".parquet"}
    for path, why in found.items():
        typer.echo(
            f"warning: {path}: {why}; the {'shard' if path in shards else 'run'} is left out", err=True
        )
    remedies = {
        "run": "remove the directory, and narrows run makes the run again",
        "shard": "bring it again from where it came, or remove it",
    }
    for word, count in (("run", len(found) - len(shards)), ("shard", len(shards))):
        if count:
            typer.echo(f"  → {counted(count, word)} left out: {remedies[word]}", err=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """A plain table without a frame; numbers to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        values = [row[i] for row in rows if row[i] is not None]
        numeric = bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        made.add_column(escape(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*(escape(cell(value)) for value in row))
    return made


def show(console: Console, format: Format, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows as was asked for; to a person as a table."""
    if format is Format.table:
        console.print(table(columns, rows))
    else:
        pieces = json_pieces if format is Format.json else csv_pieces
        console.out("".join(pieces(columns, [rows])).rstrip("\n"))


Batches = Iterable[Sequence[Sequence[Any]]]


def json_pieces(columns: Sequence[str], batches: Batches) -> Iterator[str]:
    """A JSON array of objects, batch by batch; missing is null, and so is what JSON has no number for."""
    before = "[\n "
    for batch in batches:
        for row in batch:
            yield before + json.dumps(dict(zip(columns, map(_json, row), strict=True)), default=str)
            before = ",\n "
    yield "[]\n" if before.startswith("[") else "\n]\n"


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def csv_pieces(columns: Sequence[str], batches: Batches) -> Iterator[str]:
    """CSV with a header, batch by batch; missing is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for batch in batches:
        writer.writerows(batch)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def about(seconds: float) -> str:
    """A guess, without digits that it does not have: `20 s`, `35 min`, `3.5 h`."""
    if seconds < 60:
        return f"{max(10, 10 * round(seconds / 10))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
