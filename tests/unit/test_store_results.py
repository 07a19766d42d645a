"""What a directory of results says of its runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from test_store_ingest import ingested

from narrows.runs.load import load
from narrows.store.results import Results


def again(directory: Path, run: str, **changes: Any) -> str:
    """The same plan carried out once more; `changes` are of its manifest."""
    copy = directory.with_name(run)
    shutil.copytree(directory, copy)
    manifest = json.loads((copy / "manifest.json").read_text()) | {"run_id": run} | changes
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return run


def test_of_one_plan_the_newest_run_counts_and_the_others_stay(tmp_path: Path) -> None:
    directory, _ = ingested(tmp_path)
    newer = again(directory, "f" * 16, written_at="2126-01-01T00:00:00+00:00")
    twin = again(directory, "e" * 16, engine="netns")
    other = again(directory, "d" * 16, plan_hash="0" * 16)
    slow = again(directory, "b" * 16, key={"kernel_config": "HZ=100"})
    again(directory, "c" * 16, status="failed", written_at="2127-01-01T00:00:00+00:00")
    results = Results(tmp_path)
    assert results.superseded() == {directory.name}
    assert set(results.run_ids) == {directory.name, newer, twin, other, slow}
    assert {run.run_id for run in load(tmp_path) if run.ok} == {newer, twin, other, slow}
    assert {run.run_id: run.kernel_config for run in load(tmp_path)}[slow] == "HZ=100"
