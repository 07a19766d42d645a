"""What a watch runs next, what it makes of versions, and what it calls a change."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab
from narrows.comparing.pair_shares import Side, Summary
from narrows.errors import StoreError
from narrows.plan.model import Plan
from narrows.watch import iterations
from narrows.watch.compare import differences
from narrows.watch.queue import Rule, State, next_set, pair_of, states

TEXT = """
link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)
a, b = pairs({"x": bulk(cca="bbr", stop="9 s"), "y": bulk(cca="reno", stop="9 s")})
repeat(6)
"""
RULE = Rule(a_set=2, most=6)


@pytest.fixture
def plans(tmp_path: Path) -> tuple[Plan, ...]:
    return lab.plans(tmp_path, TEXT)


def side(name: str, low: float | None, middle: float, high: float | None) -> Side:
    return Side(name, middle, low, high, 4.0, middle / 4, 0.0, 10.0, ())


def summary(pair: str, *sides: Side, n: int = 2) -> Summary:
    return Summary((), tuple(pair.split("+")), sides, 1.0, n, ())


def test_the_first_set_goes_round_the_pairs_seed_after_seed(plans: tuple[Plan, ...]) -> None:
    batch = next_set(plans, states(plans, {}, [], RULE), RULE)
    keys = [(plan.key["seed"], plan.key["pair"]) for plan in batch]
    pairs = ["x", "y", "x+x", "x+y", "y+y"]
    assert keys == [(seed, pair) for seed in ("0", "1") for pair in pairs]


def test_a_pair_whose_intervals_are_narrow_after_a_whole_set_is_done(plans: tuple[Plan, ...]) -> None:
    found = [
        summary("x+y", side("x", 1.8, 2.0, 2.4), side("y", 5.7, 6.0, 6.3)),  # ± 0.4: within 0.5
        summary("x+x", side("x", 3.0, 4.0, 4.4), side("x", 3.9, 4.0, 4.1)),  # ± 1.0: not
        summary("y+y", side("y", None, 4.0, None), side("y", None, 4.0, None)),  # no interval
    ]
    made = {pair_of(plan): 2 for plan in plans}
    words = {dict(s.pair)["pair"]: s.word for s in states(plans, made, found, RULE)}
    assert words == {"x": "open", "y": "open", "x+x": "open", "x+y": "known", "y+y": "open"}
    more = next_set(plans, states(plans, made, found, RULE), RULE)
    # the trials that are there are named too; the runner finds them whole
    assert {plan.key["pair"] for plan in more} == {"x", "y", "x+x", "y+y"}
    assert {plan.key["seed"] for plan in more} == {"0", "1", "2", "3"}


def test_a_pair_that_stays_wide_is_unstable(plans: tuple[Plan, ...]) -> None:
    wide = [summary("x+y", side("x", 1.0, 2.0, 3.0), side("y", 5.0, 6.0, 7.0), n=6)]
    made = {pair_of(plan): 6 for plan in plans}
    (state,) = (s for s in states(plans, made, wide, RULE) if dict(s.pair)["pair"] == "x+y")
    assert (state.word, state.width_mbps) == ("unstable", 1.0)
    assert next_set(plans, [state], RULE) == []


def test_half_a_set_is_not_judged(plans: tuple[Plan, ...]) -> None:
    narrow = [summary("x+y", side("x", 1.9, 2.0, 2.1), side("y", 5.9, 6.0, 6.1), n=1)]
    made = {pair_of(plan): 1 for plan in plans}
    assert all(s.word == "open" for s in states(plans, made, narrow, RULE))


def test_a_bound_follows_the_rate_unless_it_is_given() -> None:
    assert Rule().bound_mbps(8_000_000) == 0.5
    assert Rule().bound_mbps(50_000_000) == 1.5
    assert Rule(within_mbps=0.1).bound_mbps(50_000_000) == 0.1


def test_the_same_versions_go_on_and_another_browser_begins_an_iteration(tmp_path: Path) -> None:
    first = iterations.begin(tmp_path, {"kernel": "k", "chromium": "Chromium 1"})
    assert (first.number, first.finished) == (1, None)
    assert iterations.begin(tmp_path, {"kernel": "k", "chromium": "Chromium 1"}).number == 1
    assert first.finish().finished is not None
    second = iterations.begin(tmp_path, {"kernel": "k", "chromium": "Chromium 2"})
    assert second.number == 2
    assert [one.number for one in iterations.there(tmp_path)] == [1, 2]
    assert iterations.changed(first.versions, second.versions) == ["chromium: Chromium 1 → Chromium 2"]


@pytest.mark.parametrize("text", ["{", "[]", '{"format": 9, "versions": {}}', '{"format": 1}'])
def test_an_iteration_that_cannot_be_read_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / iterations.FILE).write_text(text)
    with pytest.raises(StoreError) as caught:
        iterations.there(tmp_path)
    assert caught.value.where == str(tmp_path / "1" / iterations.FILE)


def test_a_change_is_an_interval_beyond_the_other() -> None:
    before = [
        summary("x+y", side("x", 1.8, 2.0, 2.2), side("y", 5.8, 6.0, 6.2)),
        summary("y+y", side("y", None, 4.0, None), side("y", 3.9, 4.0, 4.1)),
    ]
    after = [
        summary("x+y", side("x", 2.1, 2.3, 2.5), side("y", 5.0, 5.3, 5.7)),
        summary("y+y", side("y", 3.9, 4.0, 4.1), side("y", 3.9, 4.0, 4.1)),
        summary("z+z", side("z", 1.0, 2.0, 3.0), side("z", 1.0, 2.0, 3.0)),  # was not there
    ]
    found = [(one.pair, one.service, one.word) for one in differences(before, after)]
    assert found == [
        ("x+y", "y", "changed"),
        ("y+y", "y", "too few trials to tell"),
        ("x+y", "x", "not changed"),
        ("y+y", "y", "not changed"),
    ]


def test_a_state_without_trials_is_open(plans: tuple[Plan, ...]) -> None:
    assert states(plans[:1], {}, [], RULE) == [State(pair_of(plans[0]), 0, 0, None, "open")]
