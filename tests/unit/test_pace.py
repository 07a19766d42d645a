"""The time left is learnt by kind of run, because a packet of one tool costs more than one of another."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_fakes import make_plan

from made_up_plans import whole
from narrows.engine.costs import pace_of, remember, remembered
from narrows.engine.pace import Pace, Running, guess_s, kind_of
from narrows.engine.work import expected_work
from narrows.plan.model import Plan


def without_probe(plan: Plan) -> Plan:
    return plan.model_copy(update={"traffic": plan.traffic[:1]})


BOTH = [make_plan(seed=seed, duration_s=10.0) for seed in range(3)]
BULK = [without_probe(plan) for plan in BOTH]
EARLIER = {kind_of(BOTH[0]): (4.0, expected_work(BOTH[0]))}


def test_nothing_is_said_before_a_run_is_over_or_has_come_far_enough() -> None:
    assert Pace(BOTH).left_s([Running(BOTH[0], 1.0)], slots=2) is None


def test_runs_of_one_kind_take_as_long_as_those_before() -> None:
    pace = Pace(BOTH)
    pace.finished(BOTH[0], 6.0)
    assert pace.left_s([], slots=1) == pytest.approx(12.0)
    assert pace.left_s([], slots=2) == pytest.approx(6.0)
    assert pace.left_s([Running(BOTH[1], 2.5)], slots=1) == pytest.approx(9.5)


def test_a_run_that_takes_longer_than_expected_never_leaves_less_than_the_others_need() -> None:
    pace = Pace(BOTH)
    pace.finished(BOTH[0], 6.0)
    assert pace.left_s([Running(BOTH[1], 100.0)], slots=1) == pytest.approx(6.0)


def test_a_run_on_its_way_tells_the_time_left_before_any_is_over() -> None:
    # 10 virtual seconds each: a quarter of the first took 3 s, so 9 are left of it and 12 of each other
    pace = Pace(BOTH)
    assert pace.left_s([Running(BOTH[0], 3.0, 2.5)], slots=1) == pytest.approx(9.0 + 2 * 12.0)
    assert pace.left_s([Running(BOTH[0], 3.0, 0.1)], slots=1) is None  # a hundredth says nothing


def test_a_run_on_its_way_goes_by_its_own_pace() -> None:
    pace = Pace(BOTH)
    pace.finished(BOTH[0], 6.0)
    # half of it took 12 s: 12 are left, though the one before took 6; the third: by both, 18 s for 1.5 runs
    assert pace.left_s([Running(BOTH[1], 12.0, 5.0)], slots=1) == pytest.approx(12.0 + 12.0)


def test_short_runs_that_are_left_are_not_taken_for_nothing() -> None:
    # Long runs go first; a boot is most of a short one at a low rate: 0.9 s where this long one takes 5.4.
    (long, short) = (without_probe(make_plan(seed=0, duration_s=seconds)) for seconds in (60.0, 2.0))
    long = long.model_copy(update={"link": long.link.model_copy(update={"rate_down_bps": 10**9})})
    pace = Pace([long, *[short] * 100])
    pace.finished(long, 5.4)
    assert 50 < (pace.left_s([], slots=1) or 0.0) < 200


def test_each_kind_has_its_own_pace() -> None:
    assert kind_of(BOTH[0]) != kind_of(BULK[0])
    pace = Pace([*BOTH, *BULK])
    pace.finished(BOTH[0], 50.0)
    pace.finished(BULK[0], 1.0)
    assert pace.left_s([], slots=1) == pytest.approx(2 * 50.0 + 2 * 1.0)
    assert pace.busy_s() == 51.0


def test_when_all_is_done_nothing_is_left() -> None:
    pace = Pace(BULK)
    for plan in BULK:
        pace.finished(plan, 3.0)
    assert pace.left_s([], slots=2) == pytest.approx(0.0)


def test_runs_that_were_made_earlier_tell_the_time_before_any_is_started() -> None:
    assert Pace(BOTH, EARLIER).left_s([], slots=2) == pytest.approx(6.0)


def test_what_this_call_measures_counts_more_than_what_was_made_earlier() -> None:
    pace = Pace(BOTH, EARLIER)
    pace.finished(BOTH[0], 10.0)
    assert pace.left_s([], slots=1) == pytest.approx(20.0)


def test_runs_of_other_kinds_that_were_made_earlier_are_better_than_none() -> None:
    assert Pace(BULK, EARLIER).left_s([], slots=1) is not None


def test_what_runs_cost_is_remembered_by_kind_and_failed_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path))
    pace, guessed = pace_of(BOTH)
    assert guessed
    pace.finished(BOTH[0], 6.0)
    pace.finished(BOTH[1], 0.1, good=False)
    remember(pace.measured())
    assert pace.measured() == {}  # it is added once
    again, guessed = pace_of(BOTH)
    assert not guessed
    assert again.left_s([], slots=1) == pytest.approx(18.0)
    (tmp_path / "run_costs.json").write_text("[1]")  # not one of ours: it tells nothing
    assert remembered() == {}


def test_a_browser_is_dear_whatever_the_rate() -> None:
    """A minute of a video at 8 Mbit/s is 60,000 packets, and takes ten times as long as these."""
    fields = {
        "limit_ns": 120 * 10**9,
        "link": {"rate_down_bps": 8_000_000},
        "traffic": [
            {"id": "dash", "kind": "command", "tool": "video", "memory_bytes": 2**30,
             "stop": {"at_ns": 60 * 10**9}}
        ],
    }  # fmt: skip
    assert guess_s(whole(fields)) == pytest.approx(37.0, rel=0.1)
