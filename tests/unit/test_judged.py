"""Verdicts are kept as long as nothing changes that they were made from; plans that share parts are whole."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from made_up_plans import whole
from narrows.errors import PlanError
from narrows.plan.build import keys_of, plan_experiment
from narrows.plan.identity import canonical_json
from narrows.plan.model import Plan
from narrows.runs.plans import PlanReader
from narrows.spec.load import load
from narrows.studies import judged as kept
from narrows.studies.find import experiments
from narrows.studies.judged import judged

ROOT = Path(__file__).parents[2]
SHARD = next((ROOT / "evidence/operator").glob("*.runs.parquet"))


@pytest.fixture
def shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shard below a directory, and a cache of the test's own."""
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "runs").mkdir()
    return Path(shutil.copy(SHARD, tmp_path / "runs"))


def forbid_judging(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge_all(*_: object) -> None:
        raise AssertionError("judged again")

    monkeypatch.setattr("narrows.studies.ledger.judge_all", judge_all)


def test_what_was_judged_is_given_again_until_its_runs_change(
    shard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = judged([shard.parent], ["c2"])
    assert [v.verdict for v in made.verdicts] != ["not measured"]
    assert list(made.measured) == ["operator"]
    forbid_judging(monkeypatch)
    assert judged([shard.parent], ["c2"]) == made
    with pytest.raises(AssertionError, match="judged again"):
        judged([shard.parent], ["c3"])
    shutil.copy(shard, shard.with_name("again.runs.parquet"))
    with pytest.raises(AssertionError, match="judged again"):
        judged([shard.parent], ["c2"])


def test_other_code_judges_again_and_so_does_a_file_of_the_cache_that_is_not_whole(
    shard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = judged([shard], ["C2"])
    (file,) = (tmp_path / "cache/verdicts").iterdir()
    file.write_text(file.read_text()[:100])
    assert judged([shard], ["C2"]) == made
    forbid_judging(monkeypatch)
    assert judged([shard], ["C2"]) == made
    monkeypatch.setattr(kept, "code", lambda: "another")
    with pytest.raises(AssertionError, match="judged again"):
        judged([shard], ["C2"])


def test_a_file_of_a_run_that_changes_is_seen(tmp_path: Path) -> None:
    run = tmp_path / "hello/0123456789abcdef"
    (run / "raw").mkdir(parents=True)
    for name in ("manifest.json", "metrics.parquet", "raw/tap.bin"):
        (run / name).write_text(name)
    seen = [list(kept._made_of(tmp_path))]
    (run / "raw/tap.bin").write_text("longer than before")
    seen.append(list(kept._made_of(tmp_path)))
    (run / "more").write_text("")
    seen.append(list(kept._made_of(tmp_path)))
    (tmp_path / "hello/report").mkdir()
    (tmp_path / "hello/report/report.html").write_text("no run reads it")
    assert seen[0] != seen[1] != seen[2] == list(kept._made_of(tmp_path))


def test_plans_that_share_parts_are_the_plans_that_stand_there() -> None:
    texts = pl.read_parquet(SHARD, glob=False)["plan"].to_list()
    reader = PlanReader()
    read = [reader.plan(text, "here") for text in texts]
    assert read == [Plan.from_json(text) for text in texts]
    assert len({id(plan.link) for plan in read}) < len({id(plan) for plan in read})


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"format":2}', '{"format":3', '{"seed":-1,'])
def test_what_is_no_plan_is_an_error_that_says_where(broken: str) -> None:
    text = canonical_json(whole({}).to_dict())
    reader = PlanReader()
    assert reader.plan(text, "here") == whole({})
    for wrong in (broken, text[:-1], text + "}"):
        with pytest.raises(PlanError, match="here"):
            reader.plan(wrong, "here")


def test_conditions_have_the_keys_and_plans_of_the_experiment() -> None:
    for file in (experiments("operator")["c2_docsis_pie"], experiments("aqm")["r12_underuse"]):
        experiment = load(file)
        plans = plan_experiment(experiment).plans
        alone = keys_of(experiment)
        assert [key for key, _ in alone] == [plan.key for plan in plans]
        assert alone[-1][1]() == plans[-1]
