"""Repetitions that are equal to the last digit: nothing in them depends on the seed.

They are one run that was carried out several times, so they count as one: an interval of six equal values
would say that the seed does not matter, where it was never asked. What makes repetitions differ is a start
within `start_jitter` beside something that starts at a fixed time, or anything else that the seed draws.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from narrows.runs.observed import Observed
from narrows.store.parquet import read
from narrows.store.results import Results
from narrows.store.whose import Whose

SEED = "seed"
REMEDY = 'start_jitter="10 ms" of one item beside others makes repetitions differ'

Condition = tuple[object, ...]
Run = TypeVar("Run")
Figures = Mapping[Any, float | None]


def equal_runs(results: Results, among: Collection[str] | None = None) -> list[tuple[str, ...]]:
    """Groups of equal repetitions, by run id in the order of their seeds; of the runs `among`, or of all."""
    chosen = set(results.run_ids) - results.superseded() - results.imported
    if among is not None:
        chosen &= set(among)
    conditions: dict[Condition, list[str]] = defaultdict(list)
    for run in sorted(chosen, key=lambda run: _seed(results.manifest(run).get("key") or {})):
        manifest = results.manifest(run)
        key = manifest.get("key") or {}
        made_by = manifest.get("engine"), str(manifest.get("kernel"))
        conditions[(manifest.get("experiment"), *made_by, _rest(key))].append(run)
    several = {run for same in conditions.values() if len(same) > 1 for run in same}
    figures: dict[str, dict[Any, float | None]] = {run: {} for run in several}
    table = results.table("metrics").filter(pl.col("run_id").cast(pl.String).is_in(sorted(several)))
    columns = ["run_id", "quantity", "direction", *Whose._fields, "value"]
    for run, *name, value in table.select(columns).collect().iter_rows():
        figures[str(run)][tuple(name)] = value
    return [
        group
        for same in conditions.values()
        if len(same) > 1
        for group in _equal((run, figures[run], results.run_directory(run)) for run in same)
    ]


def equal_to(results: Results, run_id: str) -> tuple[str, ...]:
    """The repetitions of a run that are equal to it, itself among them; none if there is no other."""
    key = _rest(results.manifest(run_id).get("key") or {})
    same = [run for run in results.run_ids if _rest(results.manifest(run).get("key") or {}) == key]
    return next((group for group in equal_runs(results, same) if run_id in group), ())


def independent(runs: Sequence[Observed]) -> tuple[list[Observed], list[tuple[Observed, ...]]]:
    """The runs without those that are equal to an earlier repetition, and the groups that are equal. Runs of
    a shard, which keeps not all figures, are taken as they are."""
    conditions: dict[Condition, list[Observed]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: _seed(run.key)):
        if run.ok and run.folder is not None:
            made = run.manifest
            by = made.get("engine"), str(made.get("kernel"))
            conditions[(run.experiment, *by, _rest(run.key))].append(run)
    groups = [
        group
        for same in conditions.values()
        if len(same) > 1
        for group in _equal((run, run.figures, run.folder) for run in same)
    ]
    again = {id(run) for group in groups for run in group[1:]}
    return [run for run in runs if id(run) not in again], groups


def warning(groups: Iterable[Sequence[object]], shown: str) -> str:
    """What a person should know of some groups; `shown`: their conditions (in brackets: the only one)."""
    sizes = sorted({len(group) for group in groups})
    count = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    place = shown if shown.startswith("(") else f"({shown})"
    return (
        f"{count} repetitions are equal to the last digit {place}: nothing in them depends on the seed, so "
        f"they count as one and have no interval; {REMEDY}"
    )


def _equal(runs: Iterable[tuple[Run, Figures, Path | None]]) -> list[tuple[Run, ...]]:
    """Those of one condition with the same figures, where there are any, and the same samples: figures of a
    few packets, such as how many were lost, may be equal by chance."""
    by_figures: dict[frozenset[tuple[object, object]], list[tuple[Run, Path | None]]] = defaultdict(list)
    for run, figures, folder in runs:
        if figures:
            by_figures[frozenset(figures.items())].append((run, folder))
    found: dict[object, list[Run]] = defaultdict(list)
    for figures_, same in by_figures.items():
        for run, folder in same if len(same) > 1 else ():
            found[figures_, _samples(folder)].append(run)
    return [tuple(same) for same in found.values() if len(same) > 1]


def _samples(folder: Path | None) -> int | None:
    """A digest of a run's samples, whatever ports its flows had; None where there are none."""
    file = None if folder is None else folder / "samples.parquet"
    if file is None or not file.exists():
        return None
    return _digest(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=4096)
def _digest(file: Path, _changed_ns: int) -> int:
    """A page asks for the same runs a dozen times."""
    return int(read(file).drop("run_id", "flow", strict=False).hash_rows().sum())


def _rest(key: Mapping[str, str]) -> Condition:
    return tuple(sorted((axis, label) for axis, label in key.items() if axis != SEED))


def _seed(key: Mapping[str, str]) -> tuple[int, str]:
    text = str(key.get(SEED, ""))
    return (int(text) if text.isdigit() else -1, text)
