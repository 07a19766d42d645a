"""What a directory of results says of its runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from store_fakes import make_plan
from test_store_ingest import ingested

import narrows
from narrows.comparing.words import of_older
from narrows.engine.outdir import asked_again
from narrows.errors import StoreError
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
    other = again(directory, "d" * 16, plan_hash="0" * 16, plan_seed=77)
    slow = again(directory, "b" * 16, key={"kernel_config": "HZ=100"})
    again(directory, "c" * 16, status="failed", written_at="2127-01-01T00:00:00+00:00")
    results = Results(tmp_path)
    assert results.superseded() == {directory.name}
    assert set(results.run_ids) == {directory.name, newer, twin, other, slow}
    assert {run.run_id for run in load(tmp_path) if run.ok} == {newer, twin, other, slow}
    assert {run.run_id: run.kernel_config for run in load(tmp_path)}[slow] == "HZ=100"


def test_of_an_experiment_that_was_edited_the_newest_version_counts_and_the_older_is_named(
    tmp_path: Path,
) -> None:
    directory, _ = ingested(tmp_path)
    edited = again(directory, "f" * 16, plan_hash="0" * 16, written_at="2126-01-01T00:00:00+00:00")
    assert Results(tmp_path).newer() == {directory.name: edited}
    (run,) = load(tmp_path)
    assert (run.run_id, run.older) == (edited, (directory.name,))
    assert of_older({directory.name: edited}).startswith("1 older run of the same labels")
    # Edited back and asked for again it is what the experiment says now.
    asked_again(directory)
    assert Results(tmp_path).newer() == {directory.name: edited}  # before 2126
    again(directory, "e" * 16, plan_hash="1" * 16, asked_at="2127-01-01T00:00:00+00:00")
    assert Results(tmp_path).newer() == {directory.name: "e" * 16, edited: "e" * 16}


def test_a_query_is_answered_in_pieces_and_counted(tmp_path: Path) -> None:
    ingested(tmp_path)
    with Results(tmp_path).asked("select range as n from range(25000) order by n") as answer:
        sizes = [len(batch) for batch in answer.batches()]
    assert sizes == [10_000, 10_000, 5_000]
    with Results(tmp_path).asked("select range from range(25000); -- all of them") as answer:
        assert answer.count() == 25_000


@pytest.mark.parametrize("query", ["", "  ", "select 1; select 2"])
def test_a_query_is_one_question(tmp_path: Path, query: str) -> None:
    ingested(tmp_path)
    with pytest.raises(StoreError, match="query"):
        Results(tmp_path).sql(query)


@pytest.mark.parametrize("name", ["a*", "cake[50M]", "what?", "it's"])
def test_a_path_is_literal_whatever_signs_it_has(tmp_path: Path, name: str) -> None:
    for each in (name, "aX", "cake5"):
        (tmp_path / each).mkdir()
        ingested(tmp_path / each)
    results = Results(tmp_path / name)
    runs = len(results.run_ids)
    assert results.metrics().n_unique(["run_id"]) == runs == 1
    assert results.sql("select count(distinct run_id) as n from metrics")["n"].to_list() == [1]
    once = Results(tmp_path / "aX").metrics().height
    assert results.metrics().height == once
    assert results.sql("select count(*) as n from metrics")["n"].to_list() == [once]


def test_a_run_whose_table_was_cut_off_is_named_and_left_out(tmp_path: Path) -> None:
    directory, _ = ingested(tmp_path)
    kept, _ = ingested(tmp_path, make_plan(seed=2))
    whole = (directory / "metrics.parquet").read_bytes()
    for content in (b"", b"PAR1", whole[: len(whole) // 2]):
        (directory / "metrics.parquet").write_bytes(content)
        results = Results(tmp_path)
        assert results.damaged == {directory: "metrics.parquet: cut off, or no Parquet at all"}
        assert results.metrics()["run_id"].unique().to_list() == [kept.name]
        assert results.sql("select distinct run_id from runs")["run_id"].to_list() == [kept.name]


def test_a_run_whose_manifest_cannot_be_read_is_named(tmp_path: Path) -> None:
    directory, _ = ingested(tmp_path)
    (directory / "manifest.json").write_text("{")
    results = Results(tmp_path)
    assert results.run_ids == []
    assert results.damaged == {directory: "its manifest cannot be read"}


def test_frames_join_on_the_run_and_misspelt_values_are_errors(tmp_path: Path) -> None:
    directory, _ = ingested(tmp_path)
    results = Results(tmp_path)
    joined = results.metrics().join(results.runs(), on="run_id")
    assert joined.height == results.metrics().height > 0
    with pytest.raises(StoreError, match="bulk_goodput_bp"):
        results.metrics(quantity="bulk_goodput_bp")
    assert "1 runs" in repr(results)
    assert str(directory.parent) in repr(results)


def test_a_closed_pipe_ends_a_long_answer(tmp_path: Path) -> None:
    ingested(tmp_path)
    words = (sys.executable, "-m", "narrows.cli.main", "query", str(tmp_path))
    question = "select range as n from range(100000000)"
    asked = subprocess.Popen(
        (*words, question, "--format", "csv"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert asked.stdout is not None
    assert asked.stderr is not None
    assert asked.stdout.readline() == b"n\n"
    asked.stdout.close()
    assert asked.stderr.read() == b""
    shown = subprocess.run((*words, question), capture_output=True, text=True, check=True).stdout
    assert "The first 1,000 of 100,000,000 rows" in shown


def test_answers_stream_as_json_without_nan_and_as_parquet(tmp_path: Path) -> None:
    ingested(tmp_path)
    words = (sys.executable, "-m", "narrows.cli.main", "query", str(tmp_path))
    question = "select 'nan'::double as x, 1.5::double as y, null as z"
    told = subprocess.run((*words, question, "--format", "json"), capture_output=True, check=True).stdout
    assert json.loads(told) == [{"x": None, "y": 1.5, "z": None}]
    none = subprocess.run(
        (*words, "select 1 as x where false", "--format", "json"), capture_output=True
    ).stdout
    assert json.loads(none) == []
    file = tmp_path / "answer"
    with file.open("wb") as out:
        subprocess.run((*words, "select 7 as n", "--format", "parquet"), stdout=out, check=True)
    assert pl.read_parquet(file)["n"].to_list() == [7]


def test_nothing_reads_parquet_by_a_pattern() -> None:
    package = Path(narrows.__file__).parent
    reading = re.compile(r"pl\.(scan_parquet|read_parquet)\((?!.*glob=False)")
    found = [
        f"{file.relative_to(package)}: {line.strip()}"
        for file in package.rglob("*.py")
        for line in file.read_text(encoding="utf-8").splitlines()
        if reading.search(line)
    ]
    assert found == []
