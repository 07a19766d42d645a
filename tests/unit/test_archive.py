"""Archives of runs of many flows: what is kept is judged as the runs themselves are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from test_claims_many_flows import S, many, newreno, plan, run, share
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.errors import StoreError
from narrows.metrics.fairness.many_flows import ManyFlows, Settled
from narrows.metrics.queue.first_drain import Drain
from narrows.runs import archive
from narrows.runs.load import load
from narrows.runs.observed import Observed
from narrows.studies.corescale.claims import t01, t03, t04, t08
from narrows.studies.ledger import read_all

TABLE = pl.DataFrame(
    {
        "label": ["a", "b"], "cca": ["reno", "bbr"], "node": ["sender1", None], "base_rtt_ms": [20.0, None],
        "goodput_bps": [1.5e6, 2.5e6], "dropped": [3, 4],
    }
)  # fmt: skip
SERIES = pl.DataFrame({"t_ns": [0, 10 * S], "jain": [None, 0.75]})
SHARES = pl.DataFrame({"t_ns": [0, 0], "cca": ["bbr", "reno"], "share": [0.625, 0.375]})


def stored(one: Observed, **manifest: Any) -> Observed:
    """A run with what the store knows of it."""
    known = {
        "run_id": one.run_id,
        "engine": "uml",
        "plan_hash": one.run_id,
        "kernel": {"id": "k", "path": "/home/somebody/linux"},
        "tc_after": 1,
    }
    own = dataclasses.replace(one, plan=dict(one.plan), manifest=known | manifest)
    return dataclasses.replace(own, read_many=one.read_many)


def with_frames(one: Observed) -> Observed:
    result = one.many
    assert result is not None
    whole = dataclasses.replace(result, table=TABLE, jain_series=SERIES, time_to_fairness_ns=None)
    return dataclasses.replace(one, read_many=lambda: whole)


def some_runs() -> list[Observed]:
    runs = [newreno(n, rate, 50, 1.7 + n, 1.4, 1.7) for n, rate in enumerate((100e6, 10e9), 1)]
    runs += [share(3, 10e9, {"cubic": 500, "reno": 500}, "cubic", 0.75)]
    return [stored(with_frames(one)) for one in runs]


def test_verdicts_of_an_archive_are_those_of_its_runs(tmp_path: Path) -> None:
    runs, path = some_runs(), tmp_path / "a.runs.parquet"
    assert archive.write(runs, path) == 3
    for module in (t01, t03, t04, t08):
        assert module.judge(load(path)) == module.judge(runs)
    assert {one.run_id for one in read_all(tmp_path)} == {one.run_id for one in runs}
    assert read_all(path)[0].manifest["kernel"] == {"id": "k"}


def test_every_field_comes_back(tmp_path: Path) -> None:
    settled = Settled(0.9, None, 60 * S, None)
    result = many(
        table=TABLE,
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
    assert again.many.drops == result.drops
    assert again.many.flows == result.flows
    assert_frame_equal(again.many.jain_series, SERIES)
    assert_frame_equal(again.many.share_series, SHARES)
    assert_frame_equal(again.many.table, TABLE.drop("label"), rel_tol=1e-6)


def test_a_run_made_again_replaces_the_old_and_another_kernel_s_does_not() -> None:
    old, new, hz = (run(n, plan(100e6, {"bbr": 2}), many()) for n in range(3))
    old, new = stored(old, plan_hash="p"), stored(new, plan_hash="p")
    hz = stored(dataclasses.replace(hz, key={"kernel_config": "HZ=100"}), plan_hash="p")
    failed = dataclasses.replace(
        stored(run(9, plan(100e6, {"bbr": 2}), many()), plan_hash="p"), status="failed"
    )
    assert [one.run_id for one in archive.merged([old], [new, hz, failed])] == [new.run_id, hz.run_id]


def test_nothing_to_keep_leaves_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.runs.parquet"
    archive.write(some_runs(), path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="nothing to keep"):
        archive.write([dataclasses.replace(some_runs()[0], status="failed")], path)
    assert path.read_bytes() == before


def test_an_archive_of_before_the_shares_over_time_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.runs.parquet"
    archive.write(some_runs(), path)
    pl.read_parquet(path).drop("share_series").write_parquet(path)
    (first, *_) = load(path)
    assert first.many is not None
    assert first.many.share_series.is_empty()


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.runs.parquet"
    path.write_text("no")
    with pytest.raises(StoreError, match="cannot be read as an archive"):
        load(path)
    archive.write(some_runs(), path)
    pl.read_parquet(path).with_columns(format=pl.lit(2)).write_parquet(path)
    with pytest.raises(StoreError, match="archive of format 2"):
        load(path)


@pytest.mark.parametrize(
    ("out", "error"),
    [("a.parquet", "not the name of an archive"), ("there.runs.parquet", "the archive is there already"),
     ("no/a.runs.parquet", "no such directory")],
)  # fmt: skip
def test_the_command_refuses_before_it_reads(tmp_path: Path, out: str, error: str) -> None:
    (tmp_path / "there.runs.parquet").write_text("precious")
    done = CliRunner().invoke(build_app(), ["archive", str(tmp_path), "--out", str(tmp_path / out)])
    assert done.exit_code != 0
    assert error in str(done.exception)
    assert (tmp_path / "there.runs.parquet").read_text() == "precious"


def test_an_archive_grows(tmp_path: Path) -> None:
    path = tmp_path / "a.runs.parquet"
    first, second, third = some_runs()
    archive.write([first, second], path)
    archive.write(archive.merged(load(path), [third]), path)
    assert {one.run_id for one in load(path)} == {first.run_id, second.run_id, third.run_id}
    verdict = t08.judge(load(path))
    assert verdict.run_ids == (third.run_id,)
