"""Shards: what is kept of runs is judged as the runs themselves are, and a shard is written once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from made_up_runs import grid
from polars.testing import assert_frame_equal
from test_claims_many_flows import S, many, newreno, plan, run, share
from typer.testing import CliRunner

from lab import plan as planned
from narrows import data
from narrows.cli.main import build_app
from narrows.errors import StoreError
from narrows.media.schedule import NOT_KEPT
from narrows.metrics.queue.first_drain import Drain
from narrows.report.build import Built
from narrows.runs import archive
from narrows.runs.archive import without_turns
from narrows.runs.capacity import medium_bps
from narrows.runs.find import once, runs_below
from narrows.runs.load import load
from narrows.runs.many_flows import ManyFlows, Settled
from narrows.runs.observed import Observed
from narrows.runs.quantities import NUMBERS, numbers, tails
from narrows.store import damaged
from narrows.studies import page
from narrows.studies.asked import only_asked
from narrows.studies.corescale.claims import t01, t03, t04, t08
from narrows.studies.find import claims
from narrows.studies.ledger import judge_all

SERIES = pl.DataFrame({"t_ns": [0, 10 * S], "jain": [None, 0.75]})
SHARES = pl.DataFrame({"t_ns": [0, 0], "cca": ["bbr", "reno"], "share": [0.625, 0.375]})


def stored(one: Observed, seed: str | None = None, **manifest: Any) -> Observed:
    """A run with what the store knows of it, and a seed, which every run has among its labels."""
    known = {
        "run_id": one.run_id,
        "engine": "uml",
        "plan_hash": one.run_id,
        "kernel": {"id": "k", "path": "/home/somebody/linux"},
        "tc_after": 1,
    }
    key = {"seed": seed or one.run_id} | dict(one.key)
    return dataclasses.replace(one, key=key, manifest=dict(one.manifest) | known | manifest)


def with_series(one: Observed) -> Observed:
    result = one.many
    assert result is not None
    whole = dataclasses.replace(result, jain_series=SERIES, time_to_fairness_ns=None)
    return dataclasses.replace(one, read_many=lambda: whole)


def some_runs() -> list[Observed]:
    runs = [newreno(n, rate, 50, 1.7 + n, 1.4, 1.7) for n, rate in enumerate((100e6, 10e9), 1)]
    runs += [share(3, 10e9, {"cubic": 500, "reno": 500}, "cubic", 0.75)]
    return [stored(with_series(one)) for one in runs]


def test_verdicts_of_a_shard_are_those_of_its_runs(tmp_path: Path) -> None:
    runs, path = some_runs(), tmp_path / "a.runs.parquet"
    assert archive.write(runs, path) == 3
    for module in (t01, t03, t04, t08):
        assert module.judge(load(path)) == module.judge(runs)
    assert {one.run_id for one in runs_below([tmp_path])} == {one.run_id for one in runs}
    assert runs_below([path])[0].manifest["kernel"] == {"id": "k"}


def test_verdicts_on_speed_tests_are_the_same_without_packets(tmp_path: Path) -> None:
    runs = [stored(one) for one in grid()]
    assert archive.write(runs, tmp_path / "a.runs.parquet") == len(runs)
    again = load(tmp_path / "a.runs.parquet")
    verdicts = judge_all(runs)
    assert sum(verdict.verdict != "not measured" for verdict in verdicts) >= 8
    assert judge_all(again) == verdicts
    by_id = {one.run_id: one for one in again}
    assert all(not by_id[one.run_id].probes for one in runs)
    for one in runs:
        told = list(numbers(one))
        assert list(numbers(by_id[one.run_id])) == told
        assert {name for name, *_ in told} >= {name for name in NUMBERS if name.startswith(("test", "probe"))}
    # A shard of a shard is the same again.
    archive.write(again, tmp_path / "b.runs.parquet")
    assert_frame_equal(*(pl.read_parquet(tmp_path / f"{name}.runs.parquet") for name in "ab"))


def test_a_shard_for_a_study_has_what_its_claims_read_and_no_more(tmp_path: Path) -> None:
    runs = [stored(one) for one in grid(seeds=1, rates_mbps=(100,))]
    file, asked = tmp_path / "a.runs.parquet", only_asked(runs, "aqm")
    archive.write(asked, file)
    again = load(file)
    mine = [module.judge.claim.id for module in claims("aqm")]
    assert judge_all(again, mine) == judge_all(runs, mine)
    assert 0 < sum(len(list(numbers(one))) for one in again) < sum(len(list(numbers(one))) for one in runs)


@pytest.mark.parametrize(
    ("study", "some"),
    [("quic", {"experiment": "q2_changes", "stack": "ngtcp2_bbr"}), ("last_hop", {"tool": "iperf3"})],
)
def test_a_kept_shard_kept_again_is_judged_the_same(study: str, some: dict[str, str]) -> None:
    """By what lists all numbers of a run too, and by what a medium carried when."""
    every = runs_below([data.at("evidence") / study])
    runs = [run for run in every if some.items() <= {"experiment": run.experiment, **run.key}.items()]
    ids = [module.judge.claim.id for module in claims(study)]
    verdicts = judge_all(runs, ids)
    assert any(verdict.verdict != "not measured" for verdict in verdicts)
    assert judge_all(only_asked(runs, study), ids) == verdicts


def test_a_schedule_that_is_not_kept_leaves_its_rate_unknown(tmp_path: Path) -> None:
    (one, *_) = [stored(one) for one in grid(seeds=1, rates_mbps=(100,))]
    media = planned(
        tmp_path,
        "from narrows.spec import Link, bulk, lte\n"
        'link = Link(medium=lte(rate="20 Mbit/s"), base_rtt="20 ms")\n'
        'down = bulk(stop="1 s")\n',
    ).media
    plan = one.plan.model_copy(update={"media": media})
    archive.write([dataclasses.replace(one, plan=without_turns(plan))], tmp_path / "a.runs.parquet")
    (again,) = load(tmp_path / "a.runs.parquet")
    assert {medium.turns for medium in again.plan.media} == {NOT_KEPT}
    assert medium_bps(plan, "down") == pytest.approx(20e6, rel=0.15)  # it fades
    assert medium_bps(again.plan, "down") is None


def test_tails_come_back_to_the_last_digit(tmp_path: Path) -> None:
    (one, *_) = runs = [stored(one) for one in grid(seeds=1, rates_mbps=(100,))]
    archive.write(runs, tmp_path / "a.runs.parquet")
    again = next(each for each in load(tmp_path / "a.runs.parquet") if each.run_id == one.run_id)
    kept = {(name, of): tail for name, of, _, tail in tails(again)}
    for name, of, _, tail in tails(one):
        same = kept[name, of]
        assert np.array_equal(same.values, tail.values)
        assert np.array_equal(same.counts, tail.counts)
        assert same.total == tail.total


def test_every_field_of_many_flows_comes_back(tmp_path: Path) -> None:
    settled = Settled(0.9, None, 60 * S, None)
    result = many(
        flows=2,
        drops=7,
        jain_series=SERIES,
        share_series=SHARES,
        jain_by_cca={"reno": 0.5},
        share_settled={"bbr": settled},
        drain=Drain(S, None),
        jain=0.25,
    )
    archive.write([stored(run(1, plan(100e6, {"bbr": 2}), result))], tmp_path / "a.runs.parquet")
    (again,) = load(tmp_path / "a.runs.parquet")
    assert again.many is not None
    for name in (field.name for field in dataclasses.fields(ManyFlows) if field.name not in archive.FRAMES):
        assert getattr(again.many, name) == getattr(result, name), name
    assert_frame_equal(again.many.jain_series, SERIES)
    assert_frame_equal(again.many.share_series, SHARES)
    assert again.many.table is None


def test_of_the_same_labels_the_newest_run_counts_and_another_kernel_s_too() -> None:
    old, new, hz = (run(n, plan(100e6, {"bbr": 2}), many()) for n in range(3))
    old, new = (
        stored(old, "0", plan_hash="before it was edited", written_at="2026-01"),
        stored(new, "0", plan_hash="p", written_at="2026-02"),
    )
    hz = stored(dataclasses.replace(hz, key={"kernel_config": "HZ=100"}), "0", plan_hash="p")
    failed = dataclasses.replace(
        stored(run(9, plan(100e6, {"bbr": 2}), many()), "0", plan_hash="p"), status="failed"
    )
    for found in ([old, new, hz, failed], [new, old, hz, failed]):
        assert [one.run_id for one in once(found)] == [new.run_id, hz.run_id, failed.run_id]
        assert [tuple(one.older) for one in once(found)] == [(old.run_id,), (), ()]
    anew = dataclasses.replace(new, warnings=("as a later shard has it",))
    assert once([new, anew])[0].warnings == anew.warnings
    assert not once([dataclasses.replace(new, folder=Path("results/mine")), anew])[0].warnings


def test_shards_of_several_days_and_studies_are_read_together(tmp_path: Path) -> None:
    first, second, third = some_runs()
    for folder, name, runs in (("a", "1", [first, second]), ("a", "2", [second]), ("b", "1", [third])):
        (tmp_path / folder).mkdir(exist_ok=True)
        archive.write(runs, tmp_path / folder / f"{name}.runs.parquet")
    found = runs_below([tmp_path])
    assert sorted(one.run_id for one in found) == sorted(one.run_id for one in (first, second, third))
    assert t08.judge(found).run_ids == (third.run_id,)


def test_a_shard_is_never_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "a.runs.parquet"
    archive.write(some_runs(), path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="never rewritten"):
        archive.write(some_runs()[:1], path)
    with pytest.raises(StoreError, match="nothing to keep"):
        archive.write([dataclasses.replace(some_runs()[0], status="failed")], path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_what_is_no_shard_is_refused(tmp_path: Path) -> None:
    path, newer = tmp_path / "a.runs.parquet", tmp_path / "b.runs.parquet"
    path.write_text("no")
    with pytest.raises(StoreError, match="cannot be read as a shard"):
        archive.read(path)
    assert load(path) == []
    assert "cannot be read as a shard" in damaged.left_out(path)[path]
    archive.write(some_runs(), newer)
    for number in (2, 4):
        pl.read_parquet(newer).with_columns(format=pl.lit(number)).write_parquet(newer)
        with pytest.raises(StoreError, match=f"shard of format {number}"):
            archive.read(newer)


@pytest.mark.parametrize(
    ("out", "error"),
    [("a.parquet", "not the name of a shard"), ("there.runs.parquet", "the shard is there already"),
     ("no/a.runs.parquet", "no such directory")],
)  # fmt: skip
def test_the_command_refuses_before_it_reads(tmp_path: Path, out: str, error: str) -> None:
    (tmp_path / "there.runs.parquet").write_text("precious")
    done = CliRunner().invoke(build_app(), ["archive", str(tmp_path), "--out", str(tmp_path / out)])
    assert done.exit_code != 0
    assert error in str(done.exception)
    assert (tmp_path / "there.runs.parquet").read_text() == "precious"


def test_the_command_writes_a_new_batch_beside_the_old_one(tmp_path: Path) -> None:
    archive.write(some_runs()[:2], tmp_path / "old.runs.parquet")
    done = CliRunner().invoke(
        build_app(),
        ["archive", str(tmp_path / "old.runs.parquet"), "--out", str(tmp_path / "new.runs.parquet")],
    )
    assert done.exit_code == 0, done.output
    assert "2 runs" in done.output
    assert len(runs_below([tmp_path])) == 2


def test_claims_are_judged_from_kept_and_from_own_runs_where_both_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = {"cubic": 500, "reno": 500}
    first, second = (stored(share(n, 10e9, half, "cubic", 0.75)) for n in (1, 2))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "HERE", tmp_path / "a package without evidence")
    nothing = CliRunner().invoke(build_app(), ["claims", "T8"])
    assert "neither evidence nor results" in str(nothing.exception)
    for place, one in (("evidence/study", first), ("results/mine", second)):
        (tmp_path / place).mkdir(parents=True)
        archive.write([one], tmp_path / place / "a.runs.parquet")

    def judged(*more: str) -> list[str]:
        done = CliRunner().invoke(build_app(), ["claims", "T8", "--format", "json", *more])
        assert done.exit_code == 0, done.output
        found: list[str] = json.loads(done.output)["verdicts"][0]["run_ids"]
        return found

    assert judged() == sorted([first.run_id, second.run_id])
    assert judged("--results", "results") == [second.run_id]
    appendix = CliRunner().invoke(build_app(), ["claims", "T8", "--format", "appendix"]).output
    digest = hashlib.sha256((tmp_path / "evidence/study/a.runs.parquet").read_bytes()).hexdigest()
    assert f"shard evidence/study/a.runs.parquet:\n: SHA-256 {digest}" in appendix
    assert f"### {second.experiment}\n" in appendix
    assert f"{second.run_id} (" in appendix


def test_a_study_writes_its_verdicts_alone_for_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = stored(share(1, 10e9, {"cubic": 500, "reno": 500}, "cubic", 0.75))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data, "HERE", tmp_path)
    monkeypatch.setattr(page, "build", lambda *_a, **_k: Built(tmp_path / "report.html", (), ()))
    (tmp_path / "evidence/corescale").mkdir(parents=True)
    archive.write([one], tmp_path / "evidence/corescale/a.runs.parquet")
    words = ["study", "corescale", "--kept", "--claims", "T7,T8", "--format"]

    def wrote(form: str) -> str:
        done = CliRunner().invoke(build_app(), [*words, form])
        assert done.exit_code == 0, done.output
        assert done.stderr == f"{tmp_path / 'report.html'}\n"
        return done.stdout

    found = {each["id"]: each for each in json.loads(wrote("json"))["verdicts"]}
    assert found["T7"]["verdict"] == "not measured"
    assert found["T8"]["run_ids"] == [one.run_id]
    cases = ElementTree.fromstring(wrote("junit"))
    # 0.75 is within the claim's marks of 70 to 80 %; what nothing decides is skipped, with why.
    assert (cases.attrib["tests"], cases.attrib["skipped"]) == ("2", "1")
    why = cases.find("testcase/skipped")
    assert why is not None
    assert why.attrib["message"].startswith("not measured: ")
    assert f"| {found['T8']['verdict']} |" in wrote("markdown")
    for more, said in (
        (["corescale", "--plan"], "this call has no verdict"),
        ([], "this call has no verdict"),
        (["--claims", "R8 C2"], "these claims are of aqm, operator"),
    ):
        refused = CliRunner().invoke(build_app(), ["study", *more, "--format", "json"])
        assert said in str(refused.exception)
