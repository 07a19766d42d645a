"""What the captures of runs say, beside the truth: a row for each capture, as a shard of runs keeps it.

A row has the columns of `connections` (docs/paths-columns.md) of the connection with most payload, but for
what names it; `captured_at` (`server:eth0`); and the truth, in columns that begin with `true_`. Where a run
has captures at its server and at its client, what happened between them is compared packet by packet
(`true_lost`, `true_reordered`, `true_jitter_ns`).
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from narrows.errors import NarrowsError
from narrows.paths import ends, tables
from narrows.paths.read import Settings, read
from narrows.paths.truth import of_capture
from narrows.runs.observed import Observed

NAMING = ("log", "connection", "client", "client_port", "server", "server_port", "start_ns")
"""Columns that name a connection and say nothing of its path."""
LEAST_NS = 1_000_000_000

Row = Mapping[str, Any]


def with_logs(runs: Iterable[Observed]) -> list[Observed]:
    """The runs, and those that ended well and have captures with `path_logs`."""
    every = list(runs)
    unread = [run for run in every if run.ok and run.path_logs is None and run.folder is not None]
    logs = {str(log): run for run in unread for log in _captures(run)}
    rows: dict[str, list[Row]] = {}
    if logs:
        for log, row in _largest(list(logs)):
            rows.setdefault(logs[log].run_id, []).append(_row(logs[log], Path(log), row))
    return [replace(run, path_logs=rows[run.run_id]) if run.run_id in rows else run for run in every]


def _captures(run: Observed) -> list[Path]:
    return [] if run.folder is None else sorted((run.folder / "raw").glob("*.pcapng"))


def _largest(logs: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The connection of each log with most payload, in the order of the logs."""
    with tempfile.TemporaryDirectory() as folder:
        read(list(logs), Path(folder), Settings(min_duration_ns=LEAST_NS), jobs=len(os.sched_getaffinity(0)))
        rows = tables.load(Path(folder), "connections").sort("payload_bytes").to_dicts()
    largest = {row["log"]: row for row in rows}
    for log in logs:
        if (row := largest.get(tables.full_name(log))) is not None:
            yield log, row


def _row(run: Observed, log: Path, row: Mapping[str, Any]) -> Row:
    truth = of_capture(log, row[row["sender"]], row["duration_ns"])
    known = {} if truth is None else asdict(truth)
    place = known.pop("capture", log.name)
    known.pop("run_id", None)
    known |= _between(run)
    return (
        {"captured_at": place}
        | {name: value for name, value in row.items() if name not in NAMING and value is not None}
        | {f"true_{name}": value for name, value in known.items() if value is not None}
    )


def _between(run: Observed) -> dict[str, int | None]:
    """What both ends together say; nothing where a proxy or receive offload makes other packets of them."""
    at = {
        each.node: log
        for log in _captures(run)
        for each in run.plan.captures
        if log.name.split(".")[0] == each.id
    }
    if not {"server", "client"} <= set(at):
        return {}
    try:
        both = ends.compare(at["server"], at["client"])
    except NarrowsError:
        return {}
    if both.unmatched:
        return {}
    return {"lost": both.lost, "reordered": both.reordered, "jitter_ns": both.jitter_ns}
