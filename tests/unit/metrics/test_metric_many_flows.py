"""Metrics of many flows at one bottleneck, on inputs small enough to work out by hand."""

from __future__ import annotations

import math

import polars as pl
import pytest

from narrows.metrics.fairness.fairness_over_time import delivered_per_window, jain_over_time, shares_over_time
from narrows.metrics.fairness.losses_per_halving import losses_per_halving
from narrows.metrics.fairness.mathis import mathis
from narrows.metrics.fairness.shares import shares
from narrows.metrics.fairness.synchronisation import synchronisation
from narrows.metrics.fairness.time_to_fairness import time_to_fairness_ns
from narrows.metrics.queue.burstiness import burstiness, burstiness_of_flows
from narrows.metrics.queue.first_drain import Drain, first_drain
from narrows.metrics.statistics.settled import settled_at


def test_a_flow_without_a_row_in_a_window_counts_as_zero_in_jains_index() -> None:
    table = pl.DataFrame(
        {"t_ns": [0, 0, 10, 20, 20], "flow": [1, 2, 1, 1, 2], "value": [5.0, 5.0, 9.0, 0.0, 0.0]}
    )
    # equal: 1; 9 and nothing: 81 / (2 x 81) = 1/2; nothing at all: no index
    assert jain_over_time(table)["jain"].to_list() == [1.0, 0.5, None]
    # with two more flows that never delivered: 100 / (4 x 50) = 1/2, 81 / (4 x 81) = 1/4
    assert jain_over_time(table, flows=4)["jain"].to_list() == [0.5, 0.25, None]
    with pytest.raises(ValueError, match="2 flows in the table but flows=1"):
        jain_over_time(table, flows=1)


def test_counters_become_what_was_delivered_per_window() -> None:
    table = pl.DataFrame(
        {"t_ns": [0, 4, 8, 12, 0, 12], "flow": [1, 1, 1, 1, 2, 2], "bytes": [100, 110, 130, 160, 0, 7]}
    )
    # flow 1: 10 at 4 and 20 at 8 fall into [0, 10), 30 at 12 into [10, 20); flow 2: 7 at 12
    rows = delivered_per_window(table, 10)
    assert rows.rows() == [(0, 1, 30.0), (10, 1, 30.0), (10, 2, 7.0)]
    with pytest.raises(ValueError, match="goes back"):
        delivered_per_window(table.with_columns(-pl.col("bytes")), 10)


def test_a_cca_that_delivered_nothing_in_a_window_has_a_share_of_zero_there() -> None:
    delivered = pl.DataFrame(
        {"t_ns": [0, 0, 0, 10, 20], "flow": [1, 2, 3, 1, 1], "value": [1.0, 2.0, 5.0, 4.0, 0.0]}
    )
    ccas = pl.DataFrame({"flow": [1, 2, 3], "cca": ["bbr", "bbr", "reno"]})
    # 3 of 8; all; nothing was delivered at all: no share
    assert shares_over_time(delivered, ccas).rows() == [
        (0, "bbr", 0.375),
        (0, "reno", 0.625),
        (10, "bbr", 1.0),
        (10, "reno", 0.0),
    ]


def test_a_queue_drains_after_it_was_full_and_before_the_flows_stop() -> None:
    t, mean, lowest = [0, 10, 20, 30, 40], [0, 96, 50, 99, 30], [0, 90, 10, 97, 0]
    # empty at 0, but not full yet; full at 10, down to a tenth at 20
    assert first_drain(t, mean, lowest, 100, 50) == Drain(10, 20)
    assert first_drain(t, mean, lowest, 100, 20) == Drain(10, None)
    assert first_drain(t[3:], mean[3:], lowest[3:], 100, 40) == Drain(30, None)  # it drains when they stopped
    assert first_drain(t, mean, lowest, 200, 50) == Drain(None, None)
    with pytest.raises(ValueError, match="limit 0"):
        first_drain(t, mean, lowest, 0, 50)


def test_time_to_fairness_is_after_the_last_unfair_window_and_must_last() -> None:
    t, jain = [0, 1, 2, 3, 4, 5], [0.5, 0.97, 0.9, 0.96, 0.99, 0.98]
    assert time_to_fairness_ns(t, jain, hold_ns=2) == 3
    assert time_to_fairness_ns(t, jain, hold_ns=2, start_ns=1) == 2
    assert time_to_fairness_ns(t, jain, hold_ns=3) is None  # the record ends after 2
    assert time_to_fairness_ns(t, [*jain[:5], None], hold_ns=0) is None  # nothing was delivered at the end
    assert time_to_fairness_ns(t, [0.99] * 6, hold_ns=5) == 0


def test_a_metric_has_settled_when_it_moved_less_than_a_hundredth_over_the_window() -> None:
    # window 2: at t = 4 the values since t = 2 are 100, 100.5, 100.9: 0.9 < 1.009
    t, x = [0, 1, 2, 3, 4, 5], [10.0, 50.0, 100.0, 100.5, 100.9, 100.9]
    assert settled_at(t, x, 2) == 4
    assert settled_at(t, x, 2, tolerance=0.005) == 5  # 0.4 < 0.5045 since t = 3
    assert settled_at(t, x, 6) is None  # the record is not that long
    assert settled_at(t, [*x[:3], None, *x[4:]], 2) is None  # t = 3 is inside every window from then on


def test_shares_are_by_label_and_beside_the_fair_ones() -> None:
    result = shares(["cubic", "cubic", "cubic", "bbr"], [10, 20, 30, 40])
    assert result is not None
    # bbr 40 of 100 where one of four flows is fair
    assert (result["bbr"].share, result["bbr"].fair_share, result["bbr"].flows) == (0.4, 0.25, 1)
    assert shares(["a", "b"], [0, 0]) is None
    with pytest.raises(ValueError, match="1 of 2 flows have no amount"):
        shares(["a", "b"], [1, None])


def test_the_mathis_constant_is_the_least_squares_one() -> None:
    # MSS 125 bytes = 1000 bit, RTT 1 s: p = 1/100 gives x = 10000, p = 4/100 gives x = 5000. Both send 10000:
    # C = (1e8 + 5e7) / (1e8 + 2.5e7) = 1.2; predictions 12000 and 6000, errors 0.2 and 0.4, median 0.3
    fit = mathis([10_000.0, 10_000.0], [1.0, 1.0], [1, 4], [100, 100], 125)
    assert fit is not None
    assert (fit.c, fit.median_error) == (pytest.approx(1.2), pytest.approx(0.3))


def test_with_four_losses_per_halving_the_constant_on_losses_is_twice_that_on_halvings() -> None:
    # p four times as large makes x half and C double; the prediction, and so its error, stay the same
    rate, rtt, sent, halvings = [9e3, 5e3, 4e3], [1.0, 1.0, 2.0], [100, 100, 100], [1, 4, 1]
    on_halvings = mathis(rate, rtt, halvings, sent, 125)
    on_losses = mathis(rate, rtt, [4 * h for h in halvings], sent, 125)
    assert on_halvings is not None
    assert on_losses is not None
    assert on_losses.c == pytest.approx(2 * on_halvings.c)
    assert on_losses.median_error == pytest.approx(on_halvings.median_error)


def test_flows_without_an_event_cannot_be_predicted_and_are_counted() -> None:
    fit = mathis([1e4, 1e4, 1e4], [1.0] * 3, [1, 4, 0], [100] * 3, 125)
    assert fit is not None
    assert (fit.flows, fit.left_out) == (2, 1)
    assert mathis([1e4, 1e4], [1.0] * 2, [1, 0], [100] * 2, 125) is None


def test_losses_per_halving_of_all_and_of_the_median_flow_differ() -> None:
    # totals 45 / 10; flows 2 and 6, the third never halved
    result = losses_per_halving([10, 30, 5], [5, 5, 0])
    assert result is not None
    assert (result.ratio, result.median_of_flows, result.flows_without_halving) == (4.5, 4.0, 1)


def test_regular_events_have_a_burstiness_of_minus_one() -> None:
    result = burstiness([0, 10, 20, 30])
    assert result is not None
    assert (result.goh_barabasi, result.kim_jo) == (-1.0, -1.0)


def test_the_burstiest_possible_events_reach_one_only_with_the_correction_for_few() -> None:
    # gaps 0, 0, 3: mean 1, standard deviation sqrt(2): B = (sqrt 2 - 1) / (sqrt 2 + 1). r = sqrt(n-1): A = 1
    result = burstiness([0, 0, 0, 3])
    assert result is not None
    assert result.goh_barabasi == pytest.approx((math.sqrt(2) - 1) / (math.sqrt(2) + 1))
    assert result.kim_jo == pytest.approx(1.0)
    assert burstiness([5, 5, 5]) is None


def test_flows_that_always_reduce_together_have_an_index_of_one() -> None:
    # windows of 10 in [0, 40); both flows in window 1: m = 2, together 2 x 1 / (1 x 2) = 1.
    # q = 1/4 each: by chance ((1/2)^2 - 2/16) x 4 / 2 = 1/4
    result = synchronisation([11, 18], [7, 9], 2, 10, 0, 40)
    assert result is not None
    assert (result.together, result.by_chance, result.index) == (1.0, 0.25, 1.0)


def test_flows_that_avoid_each_other_have_an_index_below_zero() -> None:
    # windows 0 and 2: together 0; (0 - 1/4) / (1 - 1/4) = -1/3
    result = synchronisation([1, 25], [7, 9], 2, 10, 0, 40)
    assert result is not None
    assert result.index == pytest.approx(-1 / 3)


def test_two_reductions_of_one_flow_in_a_window_are_not_synchronisation() -> None:
    # the window has m = 1; with a second flow that never reduces, nothing is together
    result = synchronisation([11, 12], [7, 7], 2, 10, 0, 40)
    assert result is not None
    assert (result.together, result.by_chance) == (0.0, 0.0)


def test_flows_that_reduce_in_every_window_say_nothing_of_synchronisation() -> None:
    result = synchronisation([1, 2, 11, 12], [1, 2, 1, 2], 2, 10, 0, 20)
    assert result is not None
    assert (result.together, result.by_chance, result.index) == (1.0, 1.0, None)


def test_burstiness_of_flows_is_the_median_over_each_ones_own_events() -> None:
    times = [0, 1, 2, 3, 0, 0, 0, 6, 5, 5]
    flow = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]
    # flow 1: gaps 1, 1, 1: s = 0, B = -1. Flow 2: gaps 0, 0, 6: m = 2, s = sqrt((4 + 4 + 16) / 3) = sqrt(8),
    # B = (sqrt(8) - 2) / (sqrt(8) + 2) = 0.17157. Flow 3 has two events, a fourth has none.
    second = (math.sqrt(8) - 2) / (math.sqrt(8) + 2)
    found = burstiness_of_flows(times, flow, flows=4)
    assert found is not None
    assert found.goh_barabasi == pytest.approx((second - 1) / 2)
    assert (found.lower_quartile, found.upper_quartile) == (
        pytest.approx(-1 + (second + 1) / 4), pytest.approx(-1 + 3 * (second + 1) / 4),
    )  # fmt: skip
    assert (found.flows, found.left_out) == (2, 2)
    # n = 3: A = (2 r - sqrt(2)) / sqrt(2); r = 0: -1; r = sqrt(2): 1
    assert found.kim_jo == pytest.approx(0.0)
    # the order in which events come does not matter, and one queue's train is another thing
    shuffled = burstiness_of_flows(times[::-1], flow[::-1], flows=4)
    assert shuffled == found
    assert burstiness_of_flows([1, 2], [1, 1], flows=1) is None
