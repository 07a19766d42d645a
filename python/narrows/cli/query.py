"""`narrows query DIR "SQL"`: ask the tables of a directory."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli import format as formats
from narrows.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from narrows.store.results import Results

TABLES = "runs, measures, metrics, samples, queue, sojourn, flows, tcp_flows, tcp_events, tcp_samples, media"
"""All of them, written out: the table of their columns takes long to import."""


ROWS_SHOWN = 1000
"""The most rows of a table for people; a file for programs has all."""


class QueryFormat(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"
    parquet = "parquet"


def query(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A directory of results.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help=f"Over {TABLES}.")],
    format: Annotated[QueryFormat, typer.Option(help="How to print the answer.")] = QueryFormat.table,
    failed: Annotated[bool, typer.Option("--failed", help="Ask the failed runs instead.")] = False,
) -> None:
    """Ask the tables in SQL (DuckDB).

    \b
      narrows query results/hello "select * from metrics"
      narrows query results/aqm_study "select queue, direction, median(value) from metrics
          join runs using (run_id) where quantity = 'ndt7_rtt_mean_ms' group by all"
      narrows query DIR "select called, direction, value from measures where quantity = 'share'"
      narrows query DIR "select * from samples" --format csv > samples.csv
      narrows query DIR "select * from queue" --format parquet > queue.parquet

    A table shows the first 1000 rows and says how many there are; csv, json and parquet have all of them
    and need little memory however many. `runs` has a column for each axis of the experiment. Tables,
    columns and units: docs/data.md. Nothing can be changed by a query.

    --failed: what was measured until a run failed. Only this reads it; no other command counts it.
    """
    from narrows.engine import layout
    from narrows.store.results import Results

    results = Results(directory).failed() if failed else Results(directory)
    if directory.is_dir() and not failed and not any(directory.glob(f"*/{layout.MANIFEST}")):
        raise UsageError(
            "there is no run in this directory",
            where=str(directory),
            remedy="narrows list shows where runs are; of a shard narrows report writes table.csv",
        )
    with results.asked(sql, _measures(results, sql)) as answer:
        if format is QueryFormat.table:
            shown = next(answer.batches(ROWS_SHOWN + 1), [])
            console = formats.console()
            console.print(formats.table(answer.columns, shown[:ROWS_SHOWN]))
            if len(shown) > ROWS_SHOWN:
                console.print(
                    f"The first {ROWS_SHOWN:,} of {answer.count():,} rows; "
                    f"all of them: --format csv, json or parquet"
                )
        elif format is QueryFormat.parquet:
            if sys.stdout.isatty():
                raise UsageError("Parquet is nothing for a terminal", remedy="narrows query … > FILE.parquet")
            answer.parquet_to_stdout()
        else:
            pieces = formats.json_pieces if format is QueryFormat.json else formats.csv_pieces
            for piece in pieces(answer.columns, answer.batches()):
                sys.stdout.write(piece)
            sys.stdout.flush()


def _measures(results: Results, sql: str) -> dict[str, pl.DataFrame]:
    """The table `measures`, worked out of the others; only of a query that names it."""
    if "measures" not in sql.lower():
        return {}
    from narrows.comparing.items import measures
    from narrows.runs.load import load

    return {"measures": measures(load(results.directory))}
