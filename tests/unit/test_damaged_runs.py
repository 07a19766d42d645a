"""A run that cannot be read is named, left out and counted, with exit status 1; the rest is shown."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from store_fakes import make_plan
from test_store_ingest import ingested

from narrows.cli.main import main
from narrows.serve.app import site
from narrows.store import damaged

ROOT = Path(__file__).resolve().parents[2]
WHOLE = 9


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two whole runs, and one of each kind of damage."""
    folder = tmp_path / "results" / "mine"
    runs = [ingested(folder, make_plan(seed=seed, queue="pfifo"))[0] for seed in range(WHOLE)]
    (runs[0] / "plan.json").unlink()
    (runs[1] / "plan.json").write_text("{}")
    (runs[2] / "manifest.json").write_text("{")
    (runs[3] / "manifest.json").write_text(json.dumps({"run_id": runs[3].name}))
    table = runs[4] / "samples.parquet"
    table.write_bytes(table.read_bytes()[:-9])
    table = runs[5] / "sojourn.parquet"
    content = bytearray(table.read_bytes())
    content[4 : len(content) // 3] = bytes(len(content) // 3 - 4)  # its end is right, its rows are not
    table.write_bytes(content)
    (runs[6] / "metrics.parquet").unlink()
    return folder


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["narrows", *words])
    damaged.forget(Path("/"))
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_a_report_shows_the_rest_and_says_what_it_left_out(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, "report", str(results)) == 1
    said = capsys.readouterr().err
    assert "2 runs, 0 failed" in said
    assert said.count("the run is left out") == 7
    assert "7 runs left out" in said
    for why in (
        "plan.json is missing",
        "its manifest cannot be read",
        "samples.parquet: cut off",
        "lacks status",
    ):
        assert why in said
    assert (results / "report" / "report.html").exists()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("plan_seed",), 10**399),
        (("plan_seed",), float("nan")),
        (("items", "probe", "start_ns"), 10**399),
        (("host", "memory_bytes"), -(10**399)),
        (("link", "rate_down_bps"), 2**64),  # more than a column of signed 64 bits holds
        (("calibration", "rate_down_bps"), float("inf")),
        (("resources",), ["wall_s"]),
        (("t0_unix_ns",), {"s": 1}),
        (("key", "seed"), [1]),
        (("warnings",), 3),
    ],
)
def test_a_run_with_an_odd_manifest_costs_itself_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    place: tuple[str, ...],
    value: object,
) -> None:
    folder = tmp_path / "results" / "mine"
    odd, _ = (ingested(folder, make_plan(seed=seed, queue="pfifo"))[0] for seed in (1, 2))
    whole = json.loads((odd / "manifest.json").read_text())
    part = whole
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    (odd / "manifest.json").write_text(json.dumps(whole))
    assert called(monkeypatch, "list", str(folder.parent)) == 1
    assert f"{odd.name}: its manifest cannot be read" in capsys.readouterr().err
    with TestClient(site(folder.parent, ["localhost"]), base_url="http://localhost") as client:
        for path in ("/", "/r/mine", "/ledger"):
            assert client.get(path).status_code == 200, path
        assert "1 run that counts" in client.get("/r/mine").text


def test_a_shard_that_is_cut_or_overwritten_is_named_and_the_rest_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = next((ROOT / "evidence" / "path_properties").glob("*.parquet")).read_bytes()
    middle = len(content) // 2
    for name, what in (
        ("whole", content),
        ("cut", content[:middle]),
        ("overwritten", content[:middle] + bytes(2000) + content[middle + 2000 :]),
    ):
        (tmp_path / f"{name}.runs.parquet").write_bytes(what)
    assert called(monkeypatch, "claims", "N1", "--results", str(tmp_path)) == 1
    said = capsys.readouterr()
    assert "of path_properties" in said.out + said.err
    assert said.err.count("the shard is left out") == 2
    assert "2 shards left out" in said.err
    assert called(monkeypatch, "query", str(tmp_path), "select 1") == 2
    assert "there is no run in this directory" in capsys.readouterr().err


def test_a_query_answers_of_the_rest_and_never_says_no_rows_in_silence(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "select count(distinct run_id) from metrics"
    assert called(monkeypatch, "query", str(results), sql, "--format", "csv") == 1
    answer = capsys.readouterr()
    # Of nine, four are seen to be damaged without reading their rows, and one has no such table.
    assert int(answer.out.split()[-1]) == WHOLE - 4 - 1
    assert "4 runs left out" in answer.err
    for run in results.iterdir():
        if (run / "manifest.json").read_text() != "{":
            shutil.rmtree(run)
    assert called(monkeypatch, "query", str(results), "select * from runs") == 1
    assert "its manifest cannot be read" in capsys.readouterr().err


def test_the_site_shows_the_rest_and_names_what_it_leaves_out(results: Path) -> None:
    with TestClient(site(results.parent, ["localhost"]), base_url="http://localhost") as client:
        for path in ("/", "/r/mine", "/ledger"):
            page = client.get(path)
            assert page.status_code == 200
            assert page.text.count("left out, cannot be read: ") == 7
        assert "2 runs that count" in client.get("/r/mine").text
