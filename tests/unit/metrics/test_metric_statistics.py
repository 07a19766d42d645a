"""Sequential stopping, rank inversions and bias, on inputs small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from narrows.metrics.statistics.bias import bias
from narrows.metrics.statistics.interval import quantile_interval
from narrows.metrics.statistics.rank_inversions import rank_inversions
from narrows.metrics.statistics.sequential import Rule, State, decide, smallest_n


@pytest.mark.parametrize(("quantile", "confidence"), [(0.5, 0.95), (0.95, 0.95), (0.95, 0.9), (0.1, 0.95)])
def test_the_fewest_values_are_those_with_which_an_interval_exists(
    quantile: float, confidence: float
) -> None:
    n = smallest_n(quantile, confidence)
    assert quantile_interval(np.arange(n, dtype=np.float64), quantile, confidence) is not None
    assert quantile_interval(np.arange(n - 1, dtype=np.float64), quantile, confidence) is None


def test_the_median_needs_6_values_and_p95_needs_72() -> None:
    # 0.5^6 = 1.6 % <= 2.5 % < 0.5^5; 0.95^72 = 2.49 % <= 2.5 % < 0.95^71 = 2.62 %
    assert (smallest_n(0.5), smallest_n(0.95)) == (6, 72)


def test_a_rule_stops_as_soon_as_the_interval_is_inside_the_bound() -> None:
    # n = 8: P(X <= 0) = 1/256 = 0.4 % <= 2.5 %, P(X <= 1) = 9/256 = 3.5 % is not: ranks 1 and 8 of 1..8; the
    # median is 4.5, the reach 3.5
    values = [float(k) for k in range(1, 9)]
    assert decide(values, Rule(6, 30, absolute=3.5)).state is State.RESOLVED
    open_yet = decide(values, Rule(6, 30, absolute=3.4))
    assert open_yet.state is State.CONTINUE
    assert (open_yet.estimate, open_yet.reach, open_yet.bound) == (4.5, 3.5, 3.4)
    # relative: 0.8 x 4.5 = 3.6; with both bounds either is enough
    assert decide(values, Rule(6, 30, relative=0.8)).state is State.RESOLVED
    assert decide(values, Rule(6, 30, absolute=0.1, relative=0.8)).state is State.RESOLVED


def test_not_resolved_is_an_answer_and_carries_what_was_found() -> None:
    values = [float(k) for k in range(1, 9)]
    answer = decide(values, Rule(6, 8, absolute=1.0))
    assert answer.state is State.NOT_RESOLVED
    assert answer.interval is not None
    assert (answer.n, answer.estimate, answer.interval.low, answer.interval.high) == (8, 4.5, 1.0, 8.0)


def test_a_rule_that_cannot_be_met_says_what_it_would_need() -> None:
    answer = decide([1.0] * 10, Rule(5, 10, absolute=1.0, quantile=0.95))
    assert answer.state is State.NOT_RESOLVED
    assert answer.interval is None
    assert "needs 72" in answer.reason


def test_equal_values_stop_at_the_least_number() -> None:
    stopped = decide([5.0] * 7, Rule(7, 20, absolute=0.1))
    assert (stopped.state, stopped.n, stopped.estimate) == (State.RESOLVED, 7, 5.0)
    early = decide([5.0] * 6, Rule(7, 20, absolute=0.1))
    assert early.state is State.CONTINUE
    assert "6 of at least 7" in early.reason


def test_no_values_are_no_estimate() -> None:
    for values in ([], [None, float("nan")], [3.0]):
        decision = decide(values, Rule(2, 5, absolute=1.0))
        assert (decision.state, decision.estimate, decision.interval) == (State.CONTINUE, None, None)


def test_rules_without_a_bound_or_with_impossible_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="bound"):
        Rule(6, 30)
    with pytest.raises(ValueError, match="bound"):
        Rule(6, 30, absolute=0.0)
    with pytest.raises(ValueError, match="least <= most"):
        Rule(30, 6, absolute=1.0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        Rule(6, 30, absolute=1.0, quantile=95)


def test_a_pair_in_the_wrong_order_is_an_inversion() -> None:
    # of three pairs only (b, c) is the wrong way: tau = (2 - 1) / 3
    result = rank_inversions([1, 2, 3], [10, 30, 20], names=["a", "b", "c"])
    assert result is not None
    assert (result.pairs, result.inverted, result.tied, result.which) == (3, 1, 0, [("b", "c")])
    assert (result.share, result.tau) == (pytest.approx(1 / 3), pytest.approx(1 / 3))


def test_differences_below_the_resolution_are_no_order() -> None:
    # truths 1 and 1.5 are the same to 1; readings 30 and 20 are tied to 10: pairs (0,2), (1,2)
    result = rank_inversions([1, 1.5, 3], [5, 30, 20], truth_resolution=1, reading_resolution=10)
    assert result is not None
    assert (result.pairs, result.inverted, result.tied) == (2, 0, 1)
    assert rank_inversions([1, 1], [1, 2]) is None


def test_a_reading_that_grows_as_the_truth_shrinks_is_in_order() -> None:
    delay_ms, rpm = [5, 50, 500], [3000, 900, 100]
    backwards, right = rank_inversions(delay_ms, rpm), rank_inversions(delay_ms, rpm, opposite=True)
    assert backwards is not None
    assert right is not None
    assert (backwards.inverted, right.inverted) == (3, 0)


def test_a_condition_without_a_reading_is_left_out_and_names_stay_right() -> None:
    result = rank_inversions([1, 2, 3], [9, None, 4], names=["a", "b", "c"])
    assert result is not None
    assert (result.conditions, result.which) == (2, [("a", "c")])


def test_bias_is_the_median_error_and_spread_its_scatter() -> None:
    # errors 1, 2, 3; quartiles 1.5 and 2.5; relative 0.1, 0.2, 0.3
    result = bias([11, 12, 13], [10, 10, 10])
    assert result is not None
    assert (result.median, result.mean, result.iqr, result.std, result.worst) == (2.0, 2.0, 1.0, 1.0, 3.0)
    assert (result.relative_median, result.relative_iqr) == (pytest.approx(0.2), pytest.approx(0.1))
    assert result.median_interval is None


def test_one_run_has_an_error_and_no_spread() -> None:
    result = bias([12], [10])
    assert result is not None
    assert (result.n, result.median, result.relative_median) == (1, 2.0, pytest.approx(0.2))
    assert (result.iqr, result.std, result.relative_iqr, result.median_interval) == (None, None, None, None)


def test_the_relative_bias_leaves_out_truths_of_zero() -> None:
    result = bias([1, 1, -5], [0, 0, 10])
    assert result is not None
    assert (result.relative_median, result.worst, result.n) == (None, -15.0, 3)
