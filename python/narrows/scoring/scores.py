"""The table `score` of a directory of results: worked out when first asked for, kept beside each run.

DIR/<run id>/score.parquet holds the rows, and in its metadata which code of the metrics and which item under
test they are of. A file of another code is made again: a changed definition never mixes with an old number.
"""

import hashlib
import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import polars as pl

import narrows.metrics
import narrows.scoring
from narrows.plan.model import Plan
from narrows.runs.plans import read_plan
from narrows.scoring.score import A_DELAY, SCORE, score
from narrows.store import parquet
from narrows.store.results import Results

FILE = "score.parquet"
WORTH_A_PROCESS = 50  # runs: fewer are scored before another process has started
MADE_BY = "narrows_scorer"
SCORED_BY = ("any_latency", "any_throughput", "any_whole", "score", "scored_run")
SERIES = ("item", "part", "hop", "quantity", "direction", "flow", "t_ns", "value", "unit")
DEPARTURES = ("hop", "direction", "t_ns", "flow", "bytes", "sojourn_ns")


def scores(
    results: Results,
    item_of: Callable[[Plan], str | None],
    progress: Callable[[str], None] | None = None,
    workers: int = 1,
) -> pl.DataFrame:
    """Rows of all whole runs. `item_of` names the item under test of a plan; None: the run has none. Files of
    another code are made again; `progress` hears of each that was made, by so many `workers`.
    """
    frames: dict[str, pl.DataFrame] = {}
    missing: dict[str, tuple[Path, str]] = {}
    for run in results.run_ids:
        if run in results.imported:
            continue
        folder = results.run_directory(run)
        test = item_of(read_plan(folder))
        if test is None:
            continue
        if _is_made(folder, test):
            frames[run] = parquet.read(folder / FILE)
        else:
            missing[run] = folder, test
    for run in _made(missing, workers):
        frames[run] = parquet.read(missing[run][0] / FILE)
        if progress is not None:
            progress(run)
    return pl.concat(
        [frames[run] for run in results.run_ids if run in frames] or [pl.DataFrame(schema=SCORE)]
    )


def _made(missing: Mapping[str, tuple[Path, str]], workers: int) -> Iterator[str]:
    """Score these runs, in processes where they are many; each run's id when it is done."""
    workers = min(workers, len(missing) // WORTH_A_PROCESS)
    if workers < 2:
        for run, (folder, test) in missing.items():
            make(folder, run, test)
            yield run
        return
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # of the processes: each has a core
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        jobs = {pool.submit(make, folder, run, test): run for run, (folder, test) in missing.items()}
        for job in as_completed(jobs):
            job.result()
            yield jobs[job]


def _is_made(folder: Path, test: str) -> bool:
    path = folder / FILE
    return path.exists() and parquet.metadata(path).get(MADE_BY) == f"{version()} {test}"


def make(folder: Path, run: str, test: str) -> None:
    """Score one run and keep its rows beside it."""
    plan = read_plan(folder)
    frame = score(run, plan, *_tables(folder), test, _unanswered(folder))
    path = folder / FILE
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    frame.write_parquet(temporary, compression="zstd", metadata={MADE_BY: f"{version()} {test}"})
    os.replace(temporary, path)


def _tables(folder: Path) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Only the columns and rows that metrics read: a queue table has many times more."""
    samples = parquet.scan(folder / "samples.parquet").select(SERIES)
    samples = samples.filter(pl.col("quantity").cast(pl.String).str.contains("|".join(A_DELAY)))
    queue = parquet.scan(folder / "queue.parquet").filter(pl.col("event").cast(pl.String) == "depart")
    flows = parquet.scan(folder / "flows.parquet")
    return samples.collect(), queue.select(DEPARTURES).collect(), flows.collect()


def _unanswered(folder: Path) -> set[str]:
    """Probes of which some were still on their way when the run ended."""
    figures = parquet.scan(folder / "metrics.parquet")
    found = figures.filter(pl.col("quantity").cast(pl.String) == "probe_unanswered")
    return set(found.select(pl.coalesce("part", "item").cast(pl.String)).collect().to_series())


@cache
def version() -> str:
    """Which code worked the numbers out: a hash of the sources of the metrics."""
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _sources() -> Iterable[Path]:
    """The metrics, and what puts them together."""
    yield from Path(narrows.metrics.__path__[0]).rglob("*.py")
    for part in SCORED_BY:
        yield Path(narrows.scoring.__path__[0]) / f"{part}.py"
