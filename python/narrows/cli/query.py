"""`narrows query DIR "SQL"`: ask the tables of a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli import format as formats
from narrows.cli.format import Format

TABLES = "runs, metrics, samples, queue, sojourn, flows, tcp_flows, tcp_events, tcp_samples"
"""All of them, written out: the table of their columns takes long to import."""


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def query(
        directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory of results.")],
        sql: Annotated[str, typer.Argument(metavar="SQL", help=f"Over {TABLES}.")],
        format: Annotated[Format, typer.Option(help="How to print the answer.")] = Format.table,
    ) -> None:
        """Ask the tables in SQL (DuckDB).

        \b
          narrows query results/hello "select * from metrics"
          narrows query results/aqm_study "select queue, direction, median(value) from metrics
              join runs using (run_id) where name = 'ndt7_rtt_mean_ms' group by all"
          narrows query DIR "select * from samples" --format csv > samples.csv

        `runs` has a column for each axis of the experiment. Tables, columns and units: docs/data.md. Nothing
        can be changed by a query.
        """
        from narrows.store.results import Results

        columns, _, rows = Results(directory).query(sql)
        formats.show(formats.console(), format, columns, rows)
