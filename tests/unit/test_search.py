"""The search for conditions where behaviour changes: it goes where a step is, stops when nothing surprises
it, and needs fewer points than a grid for the same error. No guest: the runs are made up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from narrows.errors import SpecError, UsageError
from narrows.plan.model import Plan
from narrows.search import search as search_module
from narrows.search.breaks import breaks
from narrows.search.check import grid, scattered
from narrows.search.chooser import Chooser, Surface
from narrows.search.search import Metric, Search
from narrows.spec import bdp, between
from narrows.spec.span import Span

Function = Callable[[tuple[float, ...]], float]


def searched(function: Function, axes: int, budget: int) -> tuple[list[tuple[float, ...]], list[float]]:
    """What a chooser finds of a function of the unit cube."""
    chooser = Chooser(axes)
    places: list[tuple[float, ...]] = []
    values = []
    while len(places) < budget:
        for place in chooser.ask(min(2, budget - len(places))):
            values.append(function(place))
            places.append(place)
            chooser.tell(place, [values[-1]])
    return places, values


def step(place: tuple[float, ...]) -> float:
    """A cliff along a slanted line, flat elsewhere."""
    height = place[0] - 0.3 if len(place) == 1 else place[0] + 0.4 * place[1] - 0.7
    return 1 / (1 + math.exp(-60 * height))


@pytest.mark.parametrize(("axes", "budget"), [(1, 12), (2, 50)])
def test_a_search_has_less_error_than_a_grid_of_as_many_points(axes: int, budget: int) -> None:
    places, values = searched(step, axes, budget)
    at = scattered(axes, 400)
    truth = np.array([step(place) for place in at])
    even = grid(axes, budget)
    errors = [
        np.abs(Surface(some, of).at(at) - truth).mean()
        for some, of in ((places, values), (even, [step(place) for place in even]))
    ]
    assert errors[0] < 0.6 * errors[1]


def test_a_break_is_named_by_its_two_sides() -> None:
    places, values = searched(step, 1, 16)
    (one,) = breaks(places, values)[:1]
    assert places[one.first][0] < 0.3 < places[one.second][0]
    assert places[one.second][0] - places[one.first][0] < 0.06
    assert one.steepness > 10
    assert breaks([(0.0,), (0.5,), (1.0,)], [0.0, 0.5, 1.0]) == [], "an even slope is no break"
    assert breaks([(0.0,), (1.0,)], [3.0, 3.0]) == []


def test_a_step_of_close_neighbours_is_not_halved_for_ever() -> None:
    places, _ = searched(lambda place: float(place[0] > 1 / 3), 1, 40)
    ordered = sorted(place[0] for place in places)
    assert min(np.diff(ordered)) >= 0.01 / 3, "a piece is divided into three at most"


def test_a_span_is_walked_in_ratios_when_it_is_wide_and_in_steps_when_not() -> None:
    wide, narrow = between("2 ms", "200 ms"), between("10 ms", "40 ms")
    assert [str(each) for each in wide.values()] == ["2 ms", "20 ms", "200 ms"]
    assert [str(each) for each in narrow.values()] == ["10 ms", "25 ms", "40 ms"]
    assert between(1, 64).values() == [1, 8, 64]
    assert [each.label() for each in between(bdp(0.25), bdp(16)).values()] == ["0.25BDP", "2BDP", "16BDP"]
    assert between("0 %", "1 %").values() == ["0 %", "0.5 %", "1 %"]
    assert wide.part(wide.at(0.37)) == pytest.approx(0.37, abs=0.002)


@pytest.mark.parametrize(("low", "high", "complaint"), [
    ("200 ms", "2 ms", "the second is not above the first"),
    ("2 ms", "2 Mbit/s", "not two values of one kind"),
    ("2 ms", True, "not two values of one kind"),
    ("fast", "slow", "not two values of one kind"),
])  # fmt: skip
def test_ends_that_make_no_span_are_refused(low: object, high: object, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        between(low, high)


EXPERIMENT = '''"""Where is the cliff?"""
from narrows.spec import Link, axis, between, bulk, repeat
link = Link(rate="10 Mbit/s", base_rtt=axis("rtt", between("2 ms", "200 ms")))
flow = bulk(cca=axis("cca", ["cubic", "bbr"]), flows=axis("flows", [1, 2, 4, 8]), duration="1 s")
repeat(3)
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "cliff.py"
    file.write_text(EXPERIMENT)
    return file


class MadeUp:
    """Runs without a guest: goodput falls where the RTT exceeds 30 ms; the middle seed is the middle one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, broken: str | None = None) -> None:
        self.values: dict[str, float | None] = {}
        self.made: list[Plan] = []
        self.broken = broken
        monkeypatch.setattr(search_module, "Results", lambda _: None)
        monkeypatch.setattr(search_module.named_figure, "rows", lambda *_, **__: pl.DataFrame(
            {"run_id": list(self.values), "value": list(self.values.values()), "unit": "bit/s"},
            schema={"run_id": pl.String, "value": pl.Float64, "unit": pl.String}))  # fmt: skip

    def __call__(self, plans: list[Plan]) -> Mapping[str, Plan]:
        runs = {}
        for plan in plans:
            run = "/".join(plan.key.values())
            rtt_s = plan.link.base_rtt_ns / 1e9
            value = 8e6 / (1 + (rtt_s / 0.03) ** 12) + 1e5 * (int(plan.key["seed"]) - 1)
            self.values[run] = None if plan.key["rtt"] == self.broken else value
            runs[run] = plan
            self.made.append(plan)
        return runs


def test_a_search_finds_where_a_metric_falls_and_says_how_well_it_predicts(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Search(file, tmp_path / "out", ["rtt"], [Metric("goodput")], only="cca=bbr flows=1", at_once=2)
    make = MadeUp(monkeypatch)
    points = [point for batch in found.batches(make, 40, 0.05) for point in batch]
    assert points == found.points
    assert len(points) < 40, "the tolerance is reached before the budget"
    assert found.surprise() is not None
    assert found.surprise() <= 0.05  # type: ignore[operator]
    assert {plan.key["cca"] for plan in make.made} == {"bbr"}
    assert len(make.made) == 3 * len(points)
    for point in points:
        assert point.values[0] is not None
        assert point.highest[0] - point.lowest[0] == pytest.approx(2e5)  # type: ignore[operator]
    values = [point.values[0] or 0.0 for point in points]
    one = breaks([point.place for point in points], values)[0]
    sides = [found.dimensions[0].span.at(points[i].place[0]) for i in (one.second, one.first)]
    assert sides[0] < 30e6 * 1.2
    assert sides[1] > 30e6 / 1.2
    assert (tmp_path / "out" / "search.json").is_file()


def test_a_point_whose_runs_failed_is_left_out_and_not_asked_again(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Search(file, tmp_path / "out", ["rtt"], [Metric("goodput")], only="cca=bbr flows=1")
    list(found.batches(MadeUp(monkeypatch, broken="20ms"), 9, None))
    assert [point.labels["rtt"] for point in found.points if not point.known] == ["20ms"]
    assert sum(point.known for point in found.points) == 8


def test_a_listed_axis_is_searched_among_its_labels_and_no_run_is_made_twice(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Search(file, tmp_path / "out", ["rtt", "flows"], [Metric("goodput")], only="cca=bbr", at_once=2)
    make = MadeUp(monkeypatch)
    list(found.batches(make, 20, None))
    made = [tuple(plan.key.items()) for plan in make.made]
    assert len(made) == len(set(made))
    assert {plan.key["flows"] for plan in make.made} <= {"1", "2", "4", "8"}


@pytest.mark.parametrize(("over", "only", "complaint"), [
    (["rt"], "cca=bbr", "the experiment has no axis rt"),
    (["rtt", "rtt"], "cca=bbr", "rtt is named twice"),
    ([], "cca=bbr", "names no axis"),
    (["cca"], None, "bbr of the axis cca has no size|cubic of the axis cca has no size"),
    (["rtt"], "flows=1", "the axis cca is not searched over, and has 2 values"),
])  # fmt: skip
def test_a_search_that_is_not_clear_is_refused_before_anything_runs(
    file: Path, tmp_path: Path, over: list[str], only: str | None, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        Search(file, tmp_path, over, [Metric("goodput")], only=only)


def test_a_span_is_a_first_look_for_run(file: Path) -> None:
    from narrows.plan.build import plan_file

    assert plan_file(file).axes["rtt"] == ("2ms", "20ms", "200ms")
    assert isinstance(between(1, 2), Span)
