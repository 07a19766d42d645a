"""T21: what of BBR counts as moved between two kernels."""

import pytest

from narrows import data
from narrows.judging.verdict import Number
from narrows.runs import archive
from narrows.studies.kernels.claims.t21 import apart, judge


def number(name: str, value: float, spread: float = 0.01) -> Number:
    return Number(name, "", value, 6, {}, value * (1 - spread), value * (1 + spread))


@pytest.mark.parametrize(
    ("name", "one", "other", "is_apart"),
    [
        ("goodput", 10.0, 12.0, True),
        ("goodput", 10.0, 10.4, False),  # less than 5 %
        ("wait in the queue, p95", 2.0, 2.9, False),  # less than 1 ms
        ("wait in the queue, p95", 20.0, 23.0, True),
        ("share of packets that were dropped", 0.00026, 0.0003, False),  # one packet of 23,000
        ("share of packets that were dropped", 0.01, 0.013, True),
    ],
)
def test_what_nobody_would_notice_is_not_moved(name: str, one: float, other: float, is_apart: bool) -> None:
    assert apart(number(name, one), number(name, other)) is is_apart


def test_intervals_that_touch_are_not_apart() -> None:
    assert apart(number("goodput", 10.0, 0.2), number("goodput", 12.0, 0.2)) is False


def test_too_few_runs_decide_nothing() -> None:
    assert apart(Number("goodput", "", 10.0, 1), number("goodput", 20.0)) is None
    kept = [run for file in data.at("evidence").glob("kernels/*") for run in archive.read(file)]
    assert judge(kept).verdict == "does not hold here"
    assert judge([run for run in kept if run.key["seed"] == "0"]).verdict == "not measured"
