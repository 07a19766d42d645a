"""`narrows query DIR "SQL"`: ask the tables of a directory."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from narrows.cli import format as formats


class Format(StrEnum):
    """How the answer is printed."""

    table = "table"
    json = "json"
    csv = "csv"


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def query(
        directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory of results.")],
        sql: Annotated[
            str, typer.Argument(metavar="SQL", help="Over runs, metrics, samples, queue, sojourn, flows.")
        ],
        format: Annotated[Format, typer.Option(help="How to print the answer.")] = Format.table,
    ) -> None:
        """Ask in SQL (DuckDB). Tables and columns: docs/data.md. Nothing can be changed by a query."""
        from narrows.store.results import Results

        columns, _, rows = Results(directory).query(sql)
        if format is Format.json:
            typer.echo(formats.as_json(columns, rows))
        elif format is Format.csv:
            typer.echo(formats.as_csv(columns, rows))
        else:
            formats.console().print(formats.table(columns, rows))
