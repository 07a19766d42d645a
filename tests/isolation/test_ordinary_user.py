"""Engine `uml` needs no root: an ordinary user runs an experiment, and gets the bytes that root gets."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

TEXT = lab.SMALL + 'at_client = capture("client")\ntest = iperf3(duration="1 s")\n'


@pytest.fixture
def user(tmp_path: Path) -> Iterator[lab.OrdinaryUser]:
    with lab.ordinary_user(tmp_path) as found:
        yield found


def test_an_ordinary_user_runs_an_experiment_and_gets_what_anybody_gets(
    tmp_path: Path, user: lab.OrdinaryUser
) -> None:
    file = lab.experiment(user.home, TEXT)
    file.chmod(0o644)
    user.narrows("run", file, "--out", "results").ok()
    (theirs,) = lab.run_dirs(user.home / "results")
    owner = pwd.getpwnam(user.name).pw_uid
    for path in [theirs, *theirs.rglob("*")]:
        assert path.lstat().st_uid == owner, path
    (ours,) = lab.make(lab.plans(tmp_path, TEXT), tmp_path / "results")
    assert theirs.name == ours.ok().directory.name, "the same plan, kernel and agent have the same id"
    for name in ("queue.parquet", "raw/at_client.pcapng", "raw/result.json"):
        assert (theirs / name).read_bytes() == (ours.directory / name).read_bytes(), name
    said = lab.manifest(theirs)["isolation"]
    assert said == ours.manifest["isolation"]


def test_list_show_query_and_report_work_for_an_ordinary_user(user: lab.OrdinaryUser) -> None:
    lab.experiment(user.home, lab.SMALL).chmod(0o644)
    user.narrows("run", "tiny.py").ok()
    (run,) = lab.run_dirs(user.home / "results/tiny")
    assert run.name in user.narrows("list", "results/tiny").ok().out
    assert "Does it hold?" in user.narrows("show", run.name, "--dir", "results/tiny").ok().out
    assert user.narrows(
        "query", "results/tiny", "select count(*) as n from runs", "--format", "csv"
    ).ok().out.split() == ["n", "1"]


@pytest.mark.root
def test_an_ordinary_user_is_told_that_netns_needs_root(user: lab.OrdinaryUser) -> None:
    lab.experiment(user.home, lab.SMALL).chmod(0o644)
    called = user.narrows("run", "tiny.py", "--engine", "netns").failed()
    assert "needs root" in called.err
    assert "uml" in called.err


def test_the_user_of_these_tests_is_ordinary(user: lab.OrdinaryUser) -> None:
    if os.geteuid() == 0:
        import subprocess

        words = [*user.before, "sh", "-c", "id -u; grep CapEff /proc/self/status; ls /root 2>&1 | head -3"]
        said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=user.home).stdout
        assert "0" not in said.splitlines()[0].split()
        assert "CapEff:\t0000000000000000" in said
