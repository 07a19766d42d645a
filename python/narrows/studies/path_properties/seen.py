"""What the captures of runs say by `narrows paths`, beside what the runs know. Nothing is judged here."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from narrows.metrics.statistics.arrays import clean
from narrows.paths import tables
from narrows.paths.read import Settings, read
from narrows.paths.truth import Truth, of_capture
from narrows.runs.observed import Observed
from narrows.studies.verdict import Number, median_of

EXPERIMENT = "n1_conditions"
PLACES = {"server": "sender", "router": "bottleneck", "client": "receiver"}
LEAST_S = 1


@dataclass(frozen=True)
class Seen:
    """One capture of one run: where it was taken, what it says, and the truth."""

    run: Observed
    place: str
    row: Mapping[str, Any]
    truth: Truth

    @property
    def path(self) -> str:
        return f"{self.run.key['path']}, {self.run.key['base_rtt']}"


Estimate = Callable[[Seen], float | None]
"""Of one capture: a value that was measured, the true one, or an error."""


def seen(runs: Iterable[Observed]) -> list[Seen]:
    """Every capture of the study's good runs, run by run. Runs of a shard have none."""
    mine = {
        run.run_id: run
        for run in runs
        if run.ok and run.experiment == EXPERIMENT and run.folder is not None and not run.kernel_config
    }
    return [one for run_id in sorted(mine) for one in _read(tuple(sorted(mine)), _Held(mine)).get(run_id, ())]


class _Held(dict[str, Observed]):
    """Runs by id, alike for the cache whatever they hold: the ids beside it tell them apart."""

    def __hash__(self) -> int:  # type: ignore[override]
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


@lru_cache(maxsize=1)
def _read(ids: tuple[str, ...], runs: _Held) -> dict[str, list[Seen]]:
    logs = {str(log): runs[one] for one in ids for log in _captures(runs[one])}
    if not logs:
        return {}
    found: dict[str, list[Seen]] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(min_duration_ns=LEAST_S * 1_000_000_000)
        read(list(logs), Path(folder), settings, jobs=len(os.sched_getaffinity(0)))
        rows = tables.load(Path(folder), "connections").sort("payload_bytes", descending=True).to_dicts()
    largest = {row["log"]: row for row in reversed(rows)}
    for log, run in logs.items():
        row = largest.get(tables.full_name(log))
        truth = None if row is None else of_capture(Path(log), row[row["sender"]])
        if row is not None and truth is not None:
            found.setdefault(run.run_id, []).append(Seen(run, _place(run, Path(log)), row, truth))
    return found


def _captures(run: Observed) -> list[Path]:
    return [] if run.folder is None else sorted((run.folder / "raw").glob("*.pcapng"))


def _place(run: Observed, log: Path) -> str:
    node = next(each.node for each in run.plan.captures if each.id == log.name.split(".")[0])
    return PLACES.get(node, node)


def errors(captures: Iterable[Seen], name: str, unit: str, error: Estimate) -> dict[tuple[str, str], Number]:
    """The median error of an estimator on each path at each place, by path and place."""
    by: dict[tuple[str, str], list[float]] = {}
    for one in captures:
        value = error(one)
        by.setdefault((one.path, one.place), [])
        if value is not None:
            by[one.path, one.place].append(value)
    made = {key: median_of(name, unit, values, ", ".join(key)) for key, values in sorted(by.items())}
    return {key: number for key, number in made.items() if number is not None}


def unknown(captures: Iterable[Seen], value: Estimate) -> str:
    """At which places, of how many captures, the estimator gives nothing: `receiver 12 of 12`."""
    told = []
    every = list(captures)
    for place in PLACES.values():
        here = [value(one) for one in every if one.place == place]
        nothing = len(here) - clean(here).size
        if nothing:
            told.append(f"{place} {nothing} of {len(here)}")
    return "; ".join(told) or "nowhere"


def but_for(marks: Mapping[str, bool]) -> str:
    """`16 of 18 (not: reordering, 20ms)`: how many are right, and which are not."""
    wrong = [name for name, right in marks.items() if not right]
    return f"{len(marks) - len(wrong)} of {len(marks)}" + (f" (not: {'; '.join(wrong)})" if wrong else "")
