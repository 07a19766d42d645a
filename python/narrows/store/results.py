"""Reads a directory of runs: `open(DIR)` gives frames of all whole runs, and SQL over them.

Read only. Frames are Polars'; `narrows.store.pandas_frames` makes Pandas' of them. Derived metrics are
`narrows.metrics`'.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from narrows.engine import layout
from narrows.errors import StoreError, did_you_mean
from narrows.store import damaged, parquet, schema

if TYPE_CHECKING:
    import duckdb

_TEXT, _WHOLE, _REAL = pl.String(), pl.Int64(), pl.Float64()
_OF_RUNS: dict[str, tuple[Any, str]] = {
    "run_id": (_TEXT, "run_id"), "experiment": (_TEXT, "experiment"), "question": (_TEXT, "question"),
    "status": (_TEXT, "status"), "error": (_TEXT, "error.line"), "engine": (_TEXT, "engine"),
    "virtual_s": (_REAL, "resources.virtual_s"), "wall_s": (_REAL, "resources.wall_s"),
    "max_rss_bytes": (_WHOLE, "resources.max_rss_bytes"), "rate_down_bps": (_WHOLE, "link.rate_down_bps"),
    "rate_up_bps": (_WHOLE, "link.rate_up_bps"), "base_rtt_ns": (_WHOLE, "link.base_rtt_ns"),
    "link_queue": (_TEXT, "link.queue"), "plan_seed": (pl.UInt64(), "plan_seed"),
    "calibration_rtt_ns": (_WHOLE, "calibration.rtt_median_ns"),
    "calibration_rate_down_bps": (_REAL, "calibration.rate_down_bps"),
    "calibration_rate_up_bps": (_REAL, "calibration.rate_up_bps"), "kernel_id": (_TEXT, "kernel.id"),
    "agent_id": (_TEXT, "agent.id"), "packets": (_WHOLE, "resources.packets"),
    "flows_ended": (_TEXT, "until_settled.reason"), "directory": (_TEXT, "directory"),
}  # fmt: skip
"""Columns of `runs`, each with its type and where the manifest has it."""
RUN_COLUMNS = {name: dtype for name, (dtype, _) in _OF_RUNS.items()}
RUN_ID_HEX_DIGITS = 16
QUESTIONS = {"SELECT", "EXPLAIN", "RELATION"}
BATCH_ROWS = 10_000
STDOUT = "/dev/stdout"


Reader = Callable[[Path], dict[str, Any] | None]
"""Reads a run's manifest; who opens a directory again and again keeps those that did not change."""


class Answer:
    """One answer of DuckDB, read in pieces."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str) -> None:
        self._connection = connection
        self._query = query
        self._result = connection.execute(query)
        description = self._result.description or []
        self.columns = [column[0] for column in description]
        self.types = [str(column[1]) for column in description]

    def batches(self, rows: int = BATCH_ROWS) -> Iterator[list[tuple[Any, ...]]]:
        """Rows in order, some at a time, so that memory is bounded by a batch."""
        while self.columns and (batch := self._result.fetchmany(rows)):
            yield batch

    def count(self) -> int:
        """How many rows the whole answer has; of a SELECT only. The rest of `batches` is lost."""
        self._as_view()
        found = self._connection.execute("SELECT count(*) FROM the_answer").fetchone()
        return int(found[0]) if found else 0

    def parquet_to_stdout(self) -> None:
        """Write the whole answer to standard output as one Parquet file."""
        self._as_view()
        self._connection.execute(f"COPY the_answer TO '{STDOUT}' (FORMAT parquet, COMPRESSION zstd)")

    def _as_view(self) -> None:
        """Under a name, not in brackets: what a person wrote may end in a semicolon or a comment."""
        self._connection.execute(f"CREATE OR REPLACE TEMP VIEW the_answer AS {self._query}")


class Results:
    """All runs below one directory. Reads manifests at once, tables when they are asked for."""

    def __init__(self, directory: Path, *, status: str = "ok", read: Reader = layout.read_manifest) -> None:
        self.directory, self._status = directory, status
        self._manifests, self.damaged = _manifests(directory, read)
        """`damaged`: directories of runs that cannot be read, and why: none of their numbers count."""

    def __repr__(self) -> str:
        failed = sum(m["status"] != "ok" for m in self._manifests.values())
        names = ", ".join(sorted({str(m.get("experiment")) for m in self._manifests.values()}))
        axes = ", ".join(dict.fromkeys(a for m in self._manifests.values() for a in m.get("key", {})))
        made = f"{len(self._manifests) - failed} runs" + (f" and {failed} failed" if failed else "")
        made += f"; {len(self.damaged)} cannot be read" if self.damaged else ""
        return (
            f"<results in {self.directory}: {made}; experiments: {names or 'none'}; axes: {axes or 'none'}; "
            f"tables: {', '.join(schema.TABLES)}>"
        )

    @property
    def run_ids(self) -> list[str]:
        """Ids of whole runs; of `failed()`, of failed ones."""
        return [run for run, manifest in self._manifests.items() if manifest["status"] == self._status]

    def failed(self) -> Results:
        """The failed runs instead of the whole ones: what was measured until they failed, where that could be
        read. Nothing else reads these tables, and they belong into no statistic."""
        return Results(self.directory, status="failed")

    @property
    def failed_ids(self) -> list[str]:
        """Ids of failed runs that no whole run has replaced."""
        return [run for run, manifest in self._manifests.items() if manifest["status"] != "ok"]

    @property
    def imported(self) -> set[str]:
        """Ids of runs that another program made: they have samples, and neither plan nor truth."""
        return {run for run, manifest in self._manifests.items() if manifest.get("engine") == layout.IMPORTED}

    def superseded(self) -> set[str]:
        """Whole runs that were made again later. They stay, and are no repetitions: who counts runs leaves
        them out."""
        return set(self.newer())

    def newer(self) -> dict[str, str]:
        """Those runs, each with the newest that the same engine made under the same labels and seed: of
        another plan (an experiment or a module that was edited), kernel or agent. A kernel of another
        configuration is another condition. An imported run has no plan, so nothing is known of it."""
        again: dict[tuple[object, ...], list[tuple[str, str]]] = {}
        imported = self.imported  # worked out each time that it is asked for
        for run in self.run_ids:
            made = self._manifests[run]
            if run not in imported:
                labels = tuple(sorted(made["key"].items()))
                what = (made.get("experiment"), made.get("plan_seed"), made["engine"], labels)
                same = again.setdefault(what, [])
                same.append((max(made["written_at"], made.get(layout.ASKED_AT, "")), run))
        return {run: max(same)[1] for same in again.values() for _, run in same if run != max(same)[1]}

    def find(self, prefix: str) -> str:
        """The id of the one run, whole or failed, that begins with this."""
        if prefix in self._manifests:
            return prefix
        fits = [run for run in self._manifests if run.startswith(prefix)]
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise StoreError(
                f"{prefix} fits {len(fits)} runs: {', '.join(fits[:5])}", remedy="give more digits"
            )
        remedy = did_you_mean(prefix, list(self._manifests)[:20])
        raise StoreError(f"no run {prefix} in {self.directory}", remedy=remedy)

    def run_directory(self, run_id: str) -> Path:
        path = layout.run_dir(self.directory, run_id)
        return path if path.is_dir() else layout.failed_dir(self.directory, run_id)

    def manifest(self, run_id: str) -> dict[str, Any]:
        return self._manifests[self.find(run_id)]

    def runs(self) -> pl.DataFrame:
        """One row per run, failed ones too, with a column per key axis."""
        axes = list(dict.fromkeys(axis for m in self._manifests.values() for axis in m.get("key", {})))
        names = {axis: axis if axis not in RUN_COLUMNS else f"key_{axis}" for axis in axes}
        rows = []
        for run, manifest in self._manifests.items():
            row = _run_row(manifest, self.run_directory(run))
            row |= {names[axis]: manifest.get("key", {}).get(axis) for axis in axes}
            rows.append(row)
        fixed = list(RUN_COLUMNS)
        head = ["run_id", "experiment", "status"]
        order = head + list(names.values()) + [name for name in fixed if name not in head]
        types = RUN_COLUMNS | {name: pl.String() for name in names.values()}
        frame = pl.DataFrame(rows, schema={name: types[name] for name in order})
        # run_id as in the tables, to join on it
        return frame.with_columns(pl.col("run_id").cast(schema.LABEL))

    def table(self, name: str) -> pl.LazyFrame:
        """A table of all whole runs (of `failed()`: of what there is of failed ones), not yet read."""
        if name not in schema.TABLES:
            raise StoreError(f"no table {name}", remedy=did_you_mean(name, schema.TABLES))
        files = self._files(name)
        return parquet.scan(files) if files else schema.empty(name).lazy()

    def _files(self, table: str) -> list[Path]:
        files = [self.run_directory(run) / f"{table}.parquet" for run in self.run_ids]
        return [file for file in files if file.exists()]

    def metrics(self, **equals: str) -> pl.DataFrame:
        """Figures; `quantity=`, `item=`, `part=`, `hop=`, `direction=`, `run_id=` choose rows."""
        return self._chosen("metrics", equals)

    def samples(self, **equals: str) -> pl.DataFrame:
        """Time series; `quantity=`, `item=`, `part=`, `hop=`, `direction=`, `flow=`, … choose rows."""
        return self._chosen("samples", equals)

    def queue(self, **equals: str) -> pl.DataFrame:
        """Events at the queues; `run_id=`, `hop=`, `direction=`, `event=` choose rows."""
        return self._chosen("queue", equals)

    def sojourn(self, **equals: str) -> pl.DataFrame:
        """Histograms of sojourn times."""
        return self._chosen("sojourn", equals)

    def flows(self, **equals: str) -> pl.DataFrame:
        """Flows at the queues."""
        return self._chosen("flows", equals)

    def _chosen(self, table: str, equals: dict[str, str]) -> pl.DataFrame:
        frame = self.table(table)
        if "run_id" in equals and len(equals["run_id"]) < RUN_ID_HEX_DIGITS:
            equals = equals | {"run_id": self.find(equals["run_id"])}
        for column in equals:
            if column not in schema.TABLES[table]:
                raise StoreError(
                    f"table {table} has no column {column}", remedy=did_you_mean(column, schema.TABLES[table])
                )
        wanted = [pl.col(column).cast(pl.String) == value for column, value in equals.items()]
        chosen = frame.filter(*wanted).collect()
        if not chosen.height:
            _values_exist(frame, equals)
        return chosen

    def sql(self, query: str) -> pl.DataFrame:
        """The answer to a query over the tables of docs/data.md as views (DuckDB)."""
        columns, types, rows = self.query(query)
        return _to_frame(columns, types, rows)

    def query(self, query: str) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
        """Column names, DuckDB's type names, and all rows. The files cannot be changed by a query."""
        with self.asked(query) as answer:
            return answer.columns, answer.types, [row for batch in answer.batches() for row in batch]

    @contextmanager
    def asked(self, query: str, derived: Mapping[str, pl.DataFrame] | None = None) -> Iterator[Answer]:
        """The answer to one question, its rows not yet read: a table may have more than fit into memory.
        `derived`: tables by name that were worked out of the stored ones."""
        import duckdb  # only who asks in SQL waits for it

        connection = duckdb.connect(":memory:")
        try:
            self._views(connection)
            for name, frame in (derived or {}).items():
                _put(connection, name, frame)
            # From here on only our files can be read, and only questions are carried out.
            here = self.directory.resolve()
            allowed = "'" + str(here).replace("'", "''") + "'"
            connection.execute(f"SET allowed_directories=[{allowed}, {parquet.pattern(here)}]")
            connection.execute(f"SET allowed_paths=['{STDOUT}']")
            connection.execute("SET enable_external_access=false")
            connection.execute("SET lock_configuration=true")
            yield Answer(connection, _the_question(connection, query))
        except duckdb.Error as error:
            raise StoreError(
                f"the query failed: {str(error).strip()}",
                remedy=f"tables: runs, measures, {', '.join(schema.TABLES)}; columns: docs/data.md",
            ) from None
        finally:
            connection.close()

    def _views(self, connection: duckdb.DuckDBPyConnection) -> None:
        _put(connection, "runs", self.runs())
        for name in schema.TABLES:
            files = [file.resolve() for file in self._files(name)]
            if files:
                for file in files:
                    parquet.schema(file)
                listing = ", ".join(map(parquet.pattern, files))
                connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{listing}])")
            else:
                _put(connection, name, schema.empty(name))


def _put(connection: duckdb.DuckDBPyConnection, name: str, frame: pl.DataFrame) -> None:
    """A frame as a table."""
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        pl.DataFrame(frame).write_parquet(file.name)
        connection.execute(
            f"CREATE TABLE {name} AS SELECT * FROM read_parquet({parquet.pattern(Path(file.name))})"
        )


def _values_exist(frame: pl.LazyFrame, equals: dict[str, str]) -> None:
    """Raise where a wanted value is in no row at all: it is misspelt, not absent under these conditions."""
    for column, value in equals.items():
        known = frame.select(pl.col(column).cast(pl.String).unique()).collect()[column].drop_nulls().to_list()
        if known and value not in known:
            raise StoreError(f"no row has the {column} {value!r}", remedy=did_you_mean(value, sorted(known)))


def _the_question(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    """The statement. All but one SELECT or EXPLAIN is refused: COPY could overwrite a run's files, and of two
    only one would be answered."""
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise StoreError(
            "the query is empty" if not statements else f"{len(statements)} statements in one query",
            remedy='one question, such as "select * from metrics"; union all joins several',
        )
    if statements[0].type.name not in QUESTIONS:
        raise StoreError(
            f"{statements[0].type.name} is not a question; results cannot be changed by a query",
            remedy="SELECT …; to keep the answer: --format csv > FILE",
        )
    return str(statements[0].query)


def _manifests(
    directory: Path, read: Reader = layout.read_manifest
) -> tuple[dict[str, dict[str, Any]], dict[Path, str]]:
    """Manifests of whole runs, then of those failed ones that have no whole run since; and what is damaged,
    which is left out."""
    if not directory.is_dir():
        raise StoreError(
            "no such directory of results",
            where=str(directory),
            remedy="narrows run FILE --out DIR makes one; narrows list shows those below results/",
        )
    manifests: dict[str, dict[str, Any]] = {}
    broken: dict[Path, str] = {}
    for base in (directory, directory / layout.FAILED):
        if not base.is_dir() or (base != directory and base.is_symlink()):
            continue
        for path in sorted(base.iterdir()):
            if path.name.startswith(".") or path.name in manifests:
                continue
            if not os.path.exists(f"{path}/{layout.MANIFEST}"):
                continue
            manifest = read(path)
            why = layout.fault(path, manifest)
            if why is not None:
                damaged.leave_out(path, why)
                broken[path] = why
            elif manifest is not None:
                manifests[path.name] = manifest
    return manifests, broken


def _run_row(manifest: dict[str, Any], directory: Path) -> dict[str, Any]:
    def at(path: str) -> Any:
        value: Any = manifest
        for part in path.split("."):
            value = (value or {}).get(part)
        return value

    return {name: at(path) for name, (_, path) in _OF_RUNS.items()} | {"directory": str(directory)}


_INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}


def _to_frame(columns: list[str], types: list[str], rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows of DuckDB as a frame; a type without a plain counterpart is left to Polars to see in the
    values.
    """
    transposed = list(zip(*rows, strict=True)) if rows else [() for _ in columns]
    series = []
    for name, kind, values in zip(columns, types, transposed, strict=True):
        dtype: Any = None
        if kind in _INTEGERS:
            dtype = pl.Int64()
        elif kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
            dtype, values = pl.Float64(), tuple(None if v is None else float(v) for v in values)
        elif kind == "VARCHAR" or kind.startswith("ENUM"):
            dtype = pl.String()
        elif kind == "BOOLEAN":
            dtype = pl.Boolean()
        elif kind in ("HUGEINT", "UBIGINT"):
            large = any(v is not None and not -(2**63) <= v < 2**63 for v in values)
            dtype = pl.Int128() if large else pl.Int64()
        series.append(pl.Series(name, list(values), dtype=dtype, strict=False))
    return pl.DataFrame(_unique(series))


def _unique(series: list[pl.Series]) -> list[pl.Series]:
    """A query may name two columns alike, a frame may not."""
    seen: dict[str, int] = {}
    result = []
    for one in series:
        seen[one.name] = seen.get(one.name, 0) + 1
        result.append(one if seen[one.name] == 1 else one.rename(f"{one.name}_{seen[one.name]}"))
    return result


def open(directory: str | Path) -> Results:
    """The results in a directory that `narrows run` wrote."""
    return Results(Path(directory))
