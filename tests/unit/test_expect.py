"""Pass marks: what an experiment file may say, and when a mark holds."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from labels import rows
from narrows.cli.expect_view import as_json, junit, markdown
from narrows.comparing import expectations, named_figure
from narrows.comparing.expectations import judge
from narrows.engine.types import RunFault
from narrows.errors import NarrowsError, SpecError, UsageError
from narrows.spec.expect import expect
from narrows.spec.load import load
from narrows.store.results import Results

FILE = '''"""Is it quick?"""
from narrows.spec import Link, bulk, codel, expect
link = Link(rate="10 Mbit/s", queue=codel())
flow = bulk(cca="reno", duration="1 s")
'''


class Keyed:
    """A plan as far as marks look at it."""

    def __init__(self, queue: str, seed: int) -> None:
        self.key = {"queue": queue, "seed": str(seed)}


RUNS: Any = {f"{queue[0]}{seed}": Keyed(queue, seed) for queue in ("codel", "pfifo") for seed in (0, 1)}
COLUMNS = {name: pl.String() for name in ("run_id", "source", "direction", "metric", "unit")} | {
    "value": pl.Float64()
}
VALUES = {"c0": 4.0, "c1": 6.0, "p0": 90.0, "p1": 10.0}


def verdicts(
    monkeypatch: pytest.MonkeyPatch, mark: expect, values: dict[str, float], unit: str = "ms", equal: Any = ()
) -> Any:
    frame = pl.DataFrame({"run_id": list(values), "value": list(values.values())})
    frame = frame.with_columns(unit=pl.lit(unit))
    monkeypatch.setattr(named_figure, "rows", lambda *_a, **_k: frame)
    monkeypatch.setattr(expectations, "equal_runs", lambda *_: equal)
    return judge(None, RUNS, [mark])  # type: ignore[arg-type]


def test_a_mark_of_each_run_is_decided_by_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    codel, pfifo = verdicts(monkeypatch, expect("x_ms", below="20 ms"), VALUES)
    assert (codel.holds, codel.value, codel.n) == (True, 6.0, 2)
    assert (pfifo.holds, pfifo.value) == (False, 90.0)
    assert "90 ms is not below 20 ms" in pfifo.reason


def test_equal_repetitions_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    mark = expect("x_ms", below="20 ms")
    codel, pfifo = verdicts(monkeypatch, mark, VALUES | {"c1": 4.0}, equal=[("c0", "c1")])
    assert [(each.n, each.of) for each in (codel, pfifo)] == [(1, 1), (2, 2)]


def test_a_statistic_is_taken_over_the_repetitions_of_a_condition(monkeypatch: pytest.MonkeyPatch) -> None:
    _, pfifo = verdicts(monkeypatch, expect("x_ms", above="49 ms", below="51 ms", of="median"), VALUES)
    assert (pfifo.holds, pfifo.value) == (True, 50.0)


def test_a_mark_of_one_source_says_whose(monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = verdicts(monkeypatch, expect("x_ms", below="20 ms", source="mine", direction="up"), VALUES)
    assert first.mark == "x_ms up of mine below 20 ms, each run"


def test_only_keeps_a_mark_to_some_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = verdicts(monkeypatch, expect("x_ms", below="20 ms", only="queue=codel"), VALUES)
    assert one.condition == {"queue": "codel"}
    with pytest.raises(NarrowsError, match="queue is never"):
        verdicts(monkeypatch, expect("x_ms", below="20 ms", only="queue=coddle"), VALUES)


def test_a_run_without_the_figure_fails_the_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    codel, pfifo = verdicts(monkeypatch, expect("x_ms", below="99 ms"), {"c0": 4.0, "p0": 5.0, "p1": 5.0})
    assert not codel.holds
    assert codel.reason == "1 of 2 runs have no such figure"
    assert pfifo.holds


def test_a_bound_of_another_unit_is_refused_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NarrowsError, match=r"20 Mbit/s does not fit x_ms, which is in ms"):
        verdicts(monkeypatch, expect("x_ms", below="20 Mbit/s"), VALUES)


def test_shares_and_rates_are_read_in_the_figures_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = dict.fromkeys(RUNS, 0.02)
    assert all(one.holds for one in verdicts(monkeypatch, expect("loss", below="5 %"), loss, "1"))
    rate = dict.fromkeys(RUNS, 9600000.0)
    found = verdicts(monkeypatch, expect("goodput_bps", above="9.5 Mbit/s"), rate, "bit/s")
    assert all(one.holds for one in found)
    assert expectations.shown(9.6e6, "bit/s") == "9.6 Mbit/s"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('expect("x_ms")', "neither below nor above"),
        ('expect("x_ms", below="quick")', "is no pass mark"),
        ('expect("x_ms", bellow="2 ms")', "bellow"),
        ('expect("x_ms", below="2 ms", of="mean")', "no statistic"),
    ],
)
def test_a_wrong_mark_stops_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "quick.py"
    file.write_text(FILE + line + "\n")
    with pytest.raises(SpecError, match=said) as caught:
        load(file)
    assert str(caught.value.where).endswith(":5")


def test_an_experiment_has_as_many_marks_as_it_likes(tmp_path: Path) -> None:
    file = tmp_path / "quick.py"
    file.write_text(FILE + 'expect("x_ms", below="2 ms")\nexpect("goodput_bps", above="9 Mbit/s")\n')
    assert [mark["figure"] for mark in load(file).expects] == ["x_ms", "goodput_bps"]


def test_the_summary_says_first_whether_all_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts(monkeypatch, expect("x_ms", below="20 ms"), VALUES)
    text = markdown("quick", "Is it quick?", found)
    assert text.splitlines()[0] == "## quick: 1 pass mark fails"
    assert "| FAILS | queue=pfifo | x_ms below 20 ms, each run | 90 ms | 2/2 |" in text


def test_other_programs_read_the_same_as_junit_and_json(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts(monkeypatch, expect("x_ms", below="20 ms"), VALUES)
    plan = SimpleNamespace(key={"queue": "sfq", "seed": "0"})
    lost = SimpleNamespace(run_id="beef", plan=plan, fault=RunFault("traffic", "it <broke>"))
    suite = ElementTree.fromstring(junit("quick", found, [lost]))  # type: ignore[list-item]
    bad = [case for case in suite if case.find("failure") is not None]
    assert [(case.get("classname"), case.get("name")) for case in bad] == [
        ("quick.queue=pfifo", "x_ms below 20 ms, each run")
    ]
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
    assert suite[-1].find("error").get("message") == "it <broke>"  # type: ignore[union-attr]
    told = json.loads(as_json("quick", "Is it quick?", found, []))
    assert told["holds"] is False
    assert [one["figure"] for one in told["marks"]] == ["x_ms"] * len(found)
    assert all(one["runs"] for one in told["marks"])
    assert told["failed"] == []


def test_a_share_is_asked_of_an_item_or_of_the_service_that_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [
        {"run_id": "r", "item": item, "called": called, "is_probe": called == "ping", "direction": "down",
         "quantity": "share", "value": value, "unit": "1"}
        for item, called, value in (("first", "video", 0.4), ("second", "bbr", 1.6), ("p", "ping", 0.1))
    ]  # fmt: skip
    monkeypatch.setattr(named_figure, "load", lambda _: [])
    monkeypatch.setattr(named_figure.items, "measures", lambda _: pl.DataFrame(rows))
    (tmp_path / "results").mkdir()
    results = Results(tmp_path / "results")
    for source in ("first", "video"):
        found = named_figure.rows(results, "share", source=source)
        assert found["value"].to_list() == [0.4]
    with pytest.raises(NarrowsError, match="share is not one figure per run: first down, second down"):
        named_figure.rows(results, "share")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"source": "nosuch"}, "no run has bulk_goodput_bps of source nosuch; those that have it: flow"),
        ({"direction": "up"}, "no run has bulk_goodput_bps of direction up; those that have it: down"),
    ],
)
def test_a_source_or_direction_that_no_run_has_stops_with_the_line(
    asked: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Some:
        """Results of one run."""

        def metrics(self) -> pl.DataFrame:
            row = ("a", "flow", "down", "bulk_goodput_bps", 9e6, "bit/s")
            return rows("metrics", [row], ("run_id", "label", "direction", "quantity", "value", "unit"))

        def superseded(self) -> set[str]:
            return set()

    with pytest.raises(UsageError, match=said) as caught:
        named_figure.rows(Some(), "bulk_goodput_bps", where="x.py:7", **asked)  # type: ignore[arg-type]
    assert (caught.value.where, caught.value.exit_code) == ("x.py:7", 2)
    monkeypatch.setattr(named_figure, "scores", lambda *_a, **_k: pl.DataFrame(schema=COLUMNS))
    with pytest.raises(UsageError, match="no run has a figure bulk_goodput_bsp") as caught:
        named_figure.rows(Some(), "bulk_goodput_bsp", where="x.py:7")  # type: ignore[arg-type]
    assert str(caught.value.remedy).startswith("did you mean bulk_goodput_bps?")
    assert named_figure.rows(Some(), "bulk_goodput_bps", source="flow").height == 1  # type: ignore[arg-type]
