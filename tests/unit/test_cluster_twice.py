"""Runs that are made twice: which worker is left out, and what becomes of the run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store_fakes import make_plan
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.engine import cluster
from narrows.engine.cluster import ClusterEngine, Made
from narrows.engine.types import Carried, RunRequest
from narrows.errors import EngineError


class Fake(ClusterEngine):
    """Workers whose bytes are made up."""

    def __init__(self, made: dict[str, bytes], twice_every: int = 1) -> None:
        self.made, self._twice_every = made, twice_every
        self._bad, self.left_out, self._lock = set(), [], threading.Lock()
        self.asked: list[str] = []

    def _make(self, request: RunRequest, without: tuple[str, ...], progress: Any = None) -> Made | Carried:
        free = [name for name in self.made if name not in without and name not in self._bad]
        if not free:
            return Carried.nothing("cluster", "there is no worker left that can be used")
        self.asked.append(free[0])
        carried = replace(Carried.nothing("x", "y"), error=None)
        return Made(carried, {"raw/result.json": self.made[free[0]]}, free[0])


@pytest.fixture
def run(tmp_path: Path) -> Callable[[Fake], Carried]:
    def carry(engine: Fake) -> Carried:
        return engine.run(RunRequest(make_plan(), tmp_path))

    return carry


def test_equal_bytes_are_made_twice_and_kept(run: Callable[[Fake], Carried], tmp_path: Path) -> None:
    engine = Fake({"a": b"1", "b": b"1"})
    assert run(engine).error is None
    assert engine.asked == ["a", "b"]
    assert (tmp_path / "raw/result.json").read_bytes() == b"1"


def test_a_worker_that_differs_from_two_others_is_named_and_left_out(run: Callable[[Fake], Carried]) -> None:
    second = Fake({"a": b"1", "b": b"2", "c": b"1"})
    assert run(second).error is None
    assert second._bad == {"b"}
    assert "b: its run of" in second.left_out[0]
    first = Fake({"a": b"2", "b": b"1", "c": b"1"})
    fault = run(first).error
    assert fault is not None
    assert "a is left out" in fault.message


def test_two_workers_that_differ_with_no_third_fail_the_run(run: Callable[[Fake], Carried]) -> None:
    fault = run(Fake({"a": b"1", "b": b"2"})).error
    assert fault is not None
    assert "no third worker" in fault.message


def test_nothing_is_made_twice_unasked(run: Callable[[Fake], Carried]) -> None:
    engine = Fake({"a": b"1", "b": b"1"}, twice_every=0)
    assert run(engine).error is None
    assert engine.asked == ["a"]


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_S", 2)
    with pytest.raises(EngineError, match=r"no scheduler at tcp://127\.0\.0\.1:9"):
        cluster.connect("tcp://127.0.0.1:9", None)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "hello"],
        ["calibrate", "--queue", "cake"],
        ["study", "prudentia", "--claims", "T9", "--only", "rate=8Mbit pair=bbr"],
    ],
)
def test_whatever_makes_runs_makes_them_on_a_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    asked = []

    def refused(*called: object) -> None:
        asked.append(called)
        raise EngineError("no scheduler")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "ClusterEngine", refused)
    said = CliRunner().invoke(build_app(), [*words, "--cluster", "tcp://head:8786", "--twice-every", "7"])
    assert "no scheduler" in str(said.exception)
    assert asked == [("tcp://head:8786", None, 7)]
