"""Metrics on made-up inputs small enough to work out by hand; each expected value is derived in a comment."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from narrows.metrics.fairness.jain import jain_index
from narrows.metrics.latency.glitches import glitches
from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.working_latency import working_latency
from narrows.metrics.rate.instantaneous_throughput import instantaneous_throughput
from narrows.metrics.rate.utilisation import largest_goodput_bps, utilisation
from narrows.metrics.statistics.arrays import clean
from narrows.metrics.statistics.bootstrap import std_interval
from narrows.metrics.statistics.distribution import distribution
from narrows.metrics.statistics.ecdf import ecdf, weighted_ecdf, weighted_quantile
from narrows.metrics.statistics.interval import quantile_interval
from narrows.metrics.statistics.stability import coefficient_of_variation


def test_missing_values_are_dropped_and_never_read_as_zero() -> None:
    assert clean([1, None, float("nan"), 3]).tolist() == [1.0, 3.0]
    assert clean(pl.Series([None, 2.5, None])).tolist() == [2.5]


def test_an_infinite_value_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        clean([1.0, math.inf])


def test_a_distribution_of_nothing_knows_only_that_n_is_zero() -> None:
    empty = distribution([])
    assert empty.n == 0
    assert empty.median is None
    assert empty.std is None
    assert empty.iqr is None
    assert empty.median_interval is None


def test_one_sample_has_a_median_and_no_standard_deviation() -> None:
    one = distribution([5.0])
    assert (one.n, one.median, one.mean, one.std) == (1, 5.0, 5.0, None)


def test_quantiles_interpolate_between_order_statistics() -> None:
    # 0, 10, ..., 100: 11 samples, quantile p is at index 10 p: median 50, p25 25 (half way 20..30), p90 90
    d = distribution([10.0 * k for k in range(11)])
    assert (d.minimum, d.p25, d.median, d.p75, d.p90, d.p95, d.p99, d.maximum) == (
        0.0,
        25.0,
        50.0,
        75.0,
        90.0,
        95.0,
        99.0,
        100.0,
    )
    assert d.iqr == 50.0
    # sample variance of 0..10 is (n^2-1)/12 * n/(n-1) = 10 * 11/10 = 11; scaled by 10: std = 10 sqrt(11)
    assert d.std == pytest.approx(10 * math.sqrt(11))


def test_the_medians_interval_comes_from_order_statistics() -> None:
    # n = 10, p = 1/2: P(X <= 1) = 11/1024 = 1.07 % <= 2.5 %, P(X <= 2) = 5.5 % is not: ranks 2 and 9.
    interval = quantile_interval([float(k) for k in range(1, 11)])
    assert interval is not None
    assert (interval.low, interval.high) == (2.0, 9.0)


def test_five_samples_are_too_few_for_a_95_percent_interval_and_six_are_enough() -> None:
    # n = 5: P(X = 0) = 1/32 = 3.1 % > 2.5 %. n = 6: 1/64 = 1.6 %, so the range of the samples.
    assert quantile_interval([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    interval = quantile_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert interval is not None
    assert (interval.low, interval.high) == (1.0, 6.0)


def test_the_bootstrap_gives_the_same_interval_every_time_and_holds_the_estimate() -> None:
    x = [1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0]
    first, second = std_interval(x), std_interval(x)
    assert first == second
    assert first is not None
    assert first.low < float(np.std(x, ddof=1)) < first.high


def test_the_bootstrap_of_four_samples_is_refused() -> None:
    assert std_interval([1.0, 2.0, 3.0, 4.0]) is None


def test_the_ecdf_steps_once_at_each_distinct_value() -> None:
    # 1, 2, 2, 4: F(1) = 1/4, F(2) = 3/4, F(4) = 1
    steps = ecdf([2.0, 1.0, 4.0, 2.0])
    assert steps is not None
    assert steps[0].tolist() == [1.0, 2.0, 4.0]
    assert steps[1].tolist() == [0.25, 0.75, 1.0]
    assert ecdf([]) is None


def test_a_weighted_ecdf_equals_the_plain_one_of_the_repeated_values() -> None:
    steps = weighted_ecdf([4.0, 1.0, 2.0, 2.0], [1, 1, 1, 1])
    assert steps is not None
    assert steps[0].tolist() == [1.0, 2.0, 4.0]
    assert steps[1].tolist() == [0.25, 0.75, 1.0]
    # 90 of 1 ms and 10 of 5 ms: the 90th percentile is still 1, the 91st is 5
    assert weighted_quantile([1.0, 5.0], [90, 10], 0.90) == 1.0
    assert weighted_quantile([1.0, 5.0], [90, 10], 0.91) == 5.0
    assert weighted_quantile([1.0], [0], 0.5) is None


def test_jain_is_one_when_equal_and_one_over_n_when_one_flow_has_all() -> None:
    assert jain_index([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert jain_index([9.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    # (1+2+3)^2 / (3 * 14) = 36/42
    assert jain_index([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert jain_index([]) is None
    assert jain_index([0.0, 0.0]) is None


def test_working_latency_is_the_loaded_median_minus_the_idle_median() -> None:
    # loaded 5, 6, 30: median 6; idle 1, 1, 4: median 1
    assert working_latency([5.0, 6.0, 30.0], [1.0, 1.0, 4.0]) == 5.0
    assert working_latency([], [1.0]) is None
    assert working_latency([1.0], []) is None


def _steady(n: int, level: float = 1.0) -> list[float | None]:
    return [level] * n


def test_a_steady_probe_has_no_glitches() -> None:
    found = glitches(_steady(6000), interval_ms=10.0)
    assert (found.count, found.per_minute) == (0, 0.0)


def test_each_excursion_of_20_ms_is_one_glitch_however_long_it_lasts() -> None:
    # 6000 probes every 10 ms = 1 minute; one single-probe spike of 25 ms and one of 30 probes: 2 per minute
    rtt = _steady(6000)
    rtt[1000] = 26.0
    for k in range(3000, 3030):
        rtt[k] = 40.0
    found = glitches(rtt, interval_ms=10.0)
    assert (found.count, found.per_minute) == (2, 2.0)


def test_an_excursion_just_under_20_ms_is_no_glitch() -> None:
    rtt = _steady(600)
    rtt[300] = 20.9  # 19.9 above the baseline of 1.0
    assert glitches(rtt, interval_ms=10.0).count == 0
    rtt[300] = 21.0
    assert glitches(rtt, interval_ms=10.0).count == 1


def test_a_burst_of_lost_probes_is_one_glitch() -> None:
    rtt = _steady(600)
    rtt[100:105] = [None] * 5
    found = glitches(rtt, interval_ms=10.0)
    assert (found.count, found.lost) == (1, 5)


def test_a_standing_queue_that_builds_slowly_is_no_glitch() -> None:
    # 0 to 60 ms over 60 s: over half the 1 s window that is 0.5 ms
    rtt: list[float | None] = [k * 0.01 for k in range(6000)]
    assert glitches(rtt, interval_ms=10.0).count == 0


def test_no_probes_give_no_rate_instead_of_zero() -> None:
    assert glitches([], interval_ms=10.0).per_minute is None


def test_throughput_counts_each_departure_in_its_bin_and_empty_bins_as_zero() -> None:
    # 1250 bytes in 10 ms = 10,000 bits / 0.01 s = 1 Mbit/s; the departure at 30 ms is outside [0, 30 ms)
    t, rate = instantaneous_throughput(
        [0, 9_999_999, 10_000_000, 30_000_000], [1250, 1250, 1250, 1250], 0, 30_000_000
    )
    assert t.tolist() == [0.0, 10e6, 20e6]
    assert rate.tolist() == [2e6, 1e6, 0.0]


def test_stability_is_the_coefficient_of_variation() -> None:
    # 2, 4: mean 3, std sqrt(2); cv = sqrt(2)/3
    assert coefficient_of_variation([2.0, 4.0]) == pytest.approx(math.sqrt(2) / 3)
    assert coefficient_of_variation([5.0, 5.0, 5.0]) == 0.0
    assert coefficient_of_variation([1.0]) is None
    assert coefficient_of_variation([0.0, 0.0]) is None


def test_full_packets_can_carry_95_6_percent_of_a_shapers_rate_as_payload() -> None:
    # 1500 - 52 = 1448 bytes of payload of every 1514 that HTB counts: 1448/1514 = 0.95641
    assert largest_goodput_bps(100e6) == pytest.approx(100e6 * 1448 / 1514)
    assert utilisation(48e6, 96e6) == 0.5
    assert utilisation(None, 96e6) is None


def test_jitter_is_the_mean_step_and_a_lost_probe_breaks_the_chain() -> None:
    # |2-1| = 1, |5-2| = 3: mean 2. With the middle lost there is no step left.
    assert jitter([1.0, 2.0, 5.0]) == 2.0
    assert jitter([1.0, None, 5.0]) is None


def test_lost_probes_are_no_glitches_where_only_delay_is_asked_for() -> None:
    rtt = _steady(600)
    rtt[100:105] = [None] * 5
    rtt[300] = 30.0
    found = glitches(rtt, interval_ms=10.0, lost_counts=False)
    assert (found.count, found.lost) == (1, 5)
    assert glitches([None] * 10, interval_ms=10.0, lost_counts=False).count == 0
