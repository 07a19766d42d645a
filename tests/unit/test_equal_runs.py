"""Repetitions that are equal to the last digit count as one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import made_up_runs
import polars as pl

from labels import said
from narrows.comparing.repetitions import independent
from narrows.report.table import summary


def test_an_interval_is_made_of_runs_that_differ(tmp_path: Path) -> None:
    """Six equal runs, whose seed was never asked, count as one, without an interval. Six that differ keep
    theirs."""
    grid = [r for r in made_up_runs.grid() if r.ok][:1]
    same = [
        replace(
            grid[0],
            run_id=f"{n}",
            key={**grid[0].key, "seed": f"{n}"},
            folder=Path("x"),
            figures=said({("a", "down", "b"): 1.0}),
        )
        for n in range(6)
    ]
    kept, groups = independent(same)
    assert [run.run_id for run in kept] == ["0"]
    assert [len(group) for group in groups] == [6]
    assert {row.values.n for row in summary(same).rows if row.over == "runs"} == {1}
    assert {row.values.n for row in summary(kept).rows if row.over == "runs"} == {1}
    differ = [replace(run, figures=said({("a", "down", "b"): float(n)})) for n, run in enumerate(same)]
    assert independent(differ) == (differ, [])
    # As many packets were lost of the first, but others.
    lost = []
    for n, run in enumerate(same[:3]):
        (folder := tmp_path / f"{n}").mkdir()
        sent = pl.DataFrame(
            {"run_id": [f"{n}"] * 2, "t_ns": [0, 1], "value": [None, 1.0] if n else [1.0, None]}
        )
        sent.write_parquet(folder / "samples.parquet")
        lost.append(replace(run, folder=folder))
    assert [[run.run_id for run in group] for group in independent(lost)[1]] == [["1", "2"]]
