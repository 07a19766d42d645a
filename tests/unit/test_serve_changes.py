"""The page that compares a watch's iterations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrows.comparing.pair_shares import Side, Summary
from narrows.serve import changes
from narrows.serve.catalog import Entry


def watch(root: Path, *kernels: str) -> Entry:
    for number, kernel in enumerate(kernels, 1):
        place = root / str(number)
        (place / "runs").mkdir(parents=True)
        said = {"format": 1, "versions": {"kernel": kernel}, "begun": "2026-01-01", "finished": None}
        (place / "iteration.json").write_text(json.dumps(said))
    return Entry("watch", root / "1" / "runs")


def test_each_iteration_stands_beside_the_one_before_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = changes.iterations(watch(tmp_path, "a", "b", "b"))
    rates = iter([1.0, 2.0, 2.0])

    def shares(_: object) -> list[Summary]:
        rate = next(rates)
        side = Side("reno", rate, rate - 0.1, rate + 0.1, 4.0, rate / 4, None, None, ())
        return [Summary((), ("reno",), (side,), None, 6, ())]

    monkeypatch.setattr(changes, "summaries", shares)
    newest, oldest = changes.steps(known, [[], [], []])
    assert (newest.after.number, newest.versions, newest.found[0].word) == (3, (), "not changed")
    assert (oldest.after.number, oldest.versions, oldest.found[0].word) == (2, ("kernel: a → b",), "changed")


def test_runs_of_no_watch_have_no_iterations(tmp_path: Path) -> None:
    assert changes.iterations(Entry("demo", tmp_path / "demo")) == []
    (tmp_path / "runs").mkdir()
    assert changes.iterations(Entry("runs", tmp_path / "runs")) == []
