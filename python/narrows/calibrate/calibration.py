"""From a directory of runs to a whole calibration: every run's scores, readings, errors, summaries.

The directory remembers what it is of in calibration.json (the name of the item under test). Tables are
written beside the report as Parquet and CSV, so that every number of the page can be asked for again.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from narrows.calibrate import compare
from narrows.calibrate.readings import (
    READINGS,
    declared,
    declared_by,
    score_readings,
    tool_readings,
    undeclared,
)
from narrows.calibrate.readings import TOOL as ANSWER
from narrows.calibrate.rounds import test_of
from narrows.comparing.repetitions import equal_runs, warning
from narrows.errors import StoreError
from narrows.plan.items import OwnTool
from narrows.runs.capacity import payload_share
from narrows.runs.plans import read_plan
from narrows.scoring.scored_run import own_items
from narrows.scoring.scores import scores
from narrows.spec.axis import SEED
from narrows.spec.under_test import TOOL
from narrows.store.results import Results
from narrows.tools.reading import layer_of

FILE = "calibration.json"
FORMAT = 1


@dataclass(frozen=True)
class Calibration:
    """All that a report shows. `table` has a row per reading and truth; `axes` are the scenario's."""

    directory: Path
    question: str
    axes: tuple[str, ...]
    tools: tuple[str, ...]
    runs: pl.DataFrame
    failed: pl.DataFrame
    scores: pl.DataFrame
    table: pl.DataFrame
    summaries: tuple[compare.Summary, ...]
    parameters: pl.DataFrame
    costs: pl.DataFrame
    changes: tuple[str, ...] = ()
    """What of the link changed when, in words."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Tools and what of them no table has, with the reason."""


def remember(directory: Path, item: str) -> None:
    """Write which traffic item is the tool under test."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FILE).write_text(json.dumps({"format": FORMAT, "item": item}) + "\n")


def item_under_test(directory: Path) -> str:
    """The item under test of a directory of runs."""
    try:
        known = json.loads((directory / FILE).read_bytes())
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict) or known.get("format") != FORMAT or not isinstance(known.get("item"), str):
        raise StoreError(
            "these runs are no calibration (calibration.json is missing or of another version)",
            where=str(directory),
            remedy="narrows calibrate --queue cake   makes one",
        )
    return str(known["item"])


def calibration(
    directory: Path, progress: Callable[[str], None] | None = None, workers: int = 1
) -> Calibration:
    """Work it all out; `progress` hears of each run that had to be scored, by so many processes."""
    results, test = Results(directory), item_under_test(directory)
    labelled = results.runs().with_columns(pl.col("run_id").cast(pl.String))  # as in the table `score`
    every = labelled.filter(~pl.col("run_id").is_in(sorted(results.superseded() | results.imported)))
    equal = equal_runs(results, set(every["run_id"]))
    again = sorted({run for group in equal for run in group[1:]})
    runs = every.filter((pl.col("status") == "ok") & ~pl.col("run_id").is_in(again))
    if runs.is_empty() or TOOL not in every.columns:
        raise StoreError("there is no whole run to compare", where=str(directory), remedy="run it again")
    scored = scores(results, lambda plan: test_of(plan, test), progress, workers)
    readings, unknown = _readings(results, runs, scored, test)
    axes = tuple(a for a in _axes(results, runs) if a not in (TOOL, SEED))
    plans = (read_plan(results.run_directory(run)) for run in runs["run_id"])
    table = compare.compared(readings, scored, runs).with_columns(compare.conditions(axes))
    return Calibration(
        directory=directory,
        question=str(runs["question"][0]),
        axes=axes,
        tools=tuple(runs[TOOL].unique(maintain_order=True).sort()),
        runs=runs,
        failed=every.filter(pl.col("status") != "ok"),
        scores=scored,
        table=table,
        summaries=tuple(compare.summaries(table)),
        parameters=compare.parameters(table),
        costs=compare.costs(scored, runs),
        changes=tuple(dict.fromkeys(change for plan in plans for change in plan.link.changes)),
        left_out=(*_left_out(runs, readings, table, unknown), *_counted_once(results, equal)),
    )


def _axes(results: Results, runs: pl.DataFrame) -> list[str]:
    names = dict.fromkeys(axis for run in runs["run_id"] for axis in results.manifest(run).get("key", {}))
    return [axis if axis in runs.columns else f"key_{axis}" for axis in names]


def _readings(
    results: Results, runs: pl.DataFrame, scored: pl.DataFrame, test: str
) -> tuple[pl.DataFrame, dict[str, list[str]]]:
    """All readings, and the figures of each run's tool that nothing declares."""
    rows: list[dict[str, Any]] = []
    unknown: dict[str, list[str]] = {}
    of_narrows = declared()
    figures = results.metrics().with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    by_run = {str(key[0]): part for key, part in figures.group_by("run_id")}
    scores_by_run = {str(key[0]): part for key, part in scored.group_by("run_id", maintain_order=True)}
    for run in runs["run_id"]:
        folder = results.run_directory(run)
        plan = read_plan(folder)
        own = own_items(plan, test)
        mine = scores_by_run.get(run)
        ways = [] if mine is None else mine["direction"].drop_nulls().unique(maintain_order=True).to_list()
        mine_from = len(rows)
        if run in by_run:
            known = dict(of_narrows)
            for tool in plan.composites:
                if isinstance(tool, OwnTool) and tool.id == test:
                    known |= declared_by(tool, folder)
            rows += tool_readings(by_run[run], run, test, ways, known)
            unknown[run] = undeclared(by_run[run], test, known)
        if mine is not None:
            probes = [i.id for i in plan.traffic if i.kind == "udp_probe" and i.id not in own]
            rows += score_readings(mine, run, plan, test, probes)
        protocols = {end.protocol for each in plan.traffic if each.id in own for end in each.endpoints}
        for row in rows[mine_from:]:
            row["layer"] = layer_of(row["layer"], protocols)
            row["payload_share"] = payload_share(plan, row["direction"] or "down", row["layer"])
    return pl.DataFrame(rows, schema=READINGS), unknown


def _left_out(
    runs: pl.DataFrame, readings: pl.DataFrame, table: pl.DataFrame, unknown: dict[str, list[str]]
) -> tuple[tuple[str, str], ...]:
    """Nothing that ran is missing from a page in silence."""
    answered = set(readings.filter(pl.col("origin") == ANSWER)["run_id"])
    compared = set(table.filter(pl.col("origin") == ANSWER)[TOOL])
    said: list[tuple[str, str]] = []
    for (tool,), part in runs.sort(TOOL).group_by(TOOL, maintain_order=True):
        ran = set(part["run_id"])
        names = sorted({name for run in ran for name in unknown.get(run, [])})
        if names:
            said.append((str(tool), f"nothing declares what {', '.join(names)} read: see docs/tools.md"))
        elif tool not in compared and not ran & answered:
            said.append((str(tool), f"ran ({len(ran)}), and declares no answer: see docs/tools.md"))
        if tool not in compared and ran & answered:
            said.append((str(tool), "never loaded the link, so nothing is known to hold its answers against"))
    return tuple(said)


def _counted_once(results: Results, equal: list[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Warns of each tool that has repetitions which are none."""
    by_tool: dict[str, list[tuple[str, ...]]] = {}
    for group in equal:
        by_tool.setdefault(results.manifest(group[0])["key"].get(TOOL, ""), []).append(group)
    return [
        (tool, warning(groups, f"{len(groups)} condition{'s' * (len(groups) > 1)}"))
        for tool, groups in sorted(by_tool.items())
    ]


def write_tables(calibration: Calibration, out: Path) -> None:
    """Every table as Parquet and CSV."""
    out.mkdir(parents=True, exist_ok=True)
    tables = {
        "summary": compare.as_frame(calibration.summaries),
        "readings": calibration.table.select(
            "run_id", *calibration.axes, TOOL, SEED, "direction", "origin", "quantity", "metric", "statistic",
            "value", "unit", "whose", "seen", "truth", "error",
        ),
        "parameters": calibration.parameters,
        "costs": calibration.costs,
        "score": calibration.scores,
    }  # fmt: skip
    for name, frame in tables.items():
        frame.write_parquet(out / f"{name}.parquet", compression="zstd")
        if name != "score":
            frame.write_csv(out / f"{name}.csv")
