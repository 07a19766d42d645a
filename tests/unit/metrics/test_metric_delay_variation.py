"""Delay variation, freezes and high delay, on inputs small enough to work out by hand."""

from __future__ import annotations

import pytest

from narrows.metrics.latency.freezes import freezes
from narrows.metrics.latency.high_delay_share import high_delay_share
from narrows.metrics.latency.ipdv import ipdv, ipdv_range
from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.pdv import pdv_quantile
from narrows.metrics.latency.rfc3550_jitter import rfc3550_jitter, rfc3550_jitter_series


def test_rfc_3550_jitter_moves_by_a_sixteenth_of_each_difference() -> None:
    # D: (132 - 100) - 16 = 16, then (148 - 132) - 16 = 0. J: 16/16 = 1, then 1 - 1/16
    series = rfc3550_jitter_series([0, 16, 32], [100, 132, 148])
    assert series is not None
    assert series.tolist() == [1.0, 0.9375]


def test_the_three_jitters_differ_on_reordered_packets() -> None:
    sent, received = [0, 10, 20], [100, 130, 120]  # delays 100, 120, 100 in order of sending
    # RFC 3550, order of arrival (0,100) (20,120) (10,130): D = 20 - 20 = 0, then 10 - (-10) = 20; J = 20/16
    assert rfc3550_jitter(sent, received) == 1.25
    delays = [r - s for s, r in zip(sent, received, strict=True)]
    # mean of |20| and |-20|
    assert jitter([float(d) for d in delays]) == 20.0
    steps = ipdv(delays)
    assert steps is not None
    assert steps.tolist() == [20.0, -20.0]


def test_a_lost_packet_joins_its_neighbours_in_rfc_3550_and_parts_them_in_ipdv() -> None:
    # arrivals of the first and third: D = (150 - 100) - 32 = 18
    assert rfc3550_jitter([0, 16, 32], [100, None, 150]) == 18 / 16
    assert ipdv([100.0, None, 118.0]) is None


def test_pdv_is_against_the_smallest_delay_and_ipdv_against_the_one_before() -> None:
    steps = ipdv([10, 12, 11, 20])
    assert steps is not None
    assert steps.tolist() == [2.0, -1.0, 9.0]
    # median of 0, 1, 2, 10; from the smallest to the largest step
    assert pdv_quantile([10, 12, 11, 20], 0.5) == 1.5
    assert ipdv_range([10, 12, 11, 20], 1.0) == 10.0


def test_a_slow_rise_of_delay_is_all_in_pdv_and_hardly_in_ipdv() -> None:
    rising = [float(k) for k in range(101)]
    assert pdv_quantile(rising, 1.0) == 100.0
    assert ipdv_range(rising) == 0.0


def frames(*gaps: float) -> list[float]:
    times = [0.0]
    for gap in gaps:
        times.append(times[-1] + gap)
    return times


def test_a_gap_can_hide_in_its_own_mean_in_libwebrtc_but_not_against_the_gaps_before() -> None:
    # five gaps of 40, one of 200. libwebrtc: (200 + 200) / 6 = 66 rounded down; max(198, 216) = 216 > 200.
    # before: 40; max(120, 190) = 190 < 200.
    times = frames(*[40.0] * 5, 200.0)
    hidden, seen = freezes(times), freezes(times, "prior")
    assert hidden is not None
    assert seen is not None
    assert (hidden.count, seen.count) == (0, 1)
    assert (seen.frozen_ms, seen.observed_ms, seen.frames) == (200.0, 400.0, 7)


def test_libwebrtc_compares_with_at_least_and_the_rule_of_papers_with_more_than() -> None:
    # 40 x 5, then 190: the limit against the gaps before is 190, and 190 is not more
    at_limit = freezes(frames(*[40.0] * 5, 190.0), "prior")
    assert at_limit is not None
    assert at_limit.count == 0
    # 29 gaps of 40, then 220: floor((1160 + 220) / 30) = 46; max(138, 196) = 196; and with 196 itself:
    # floor((1160 + 196) / 30) = 45; max(135, 195) = 195 <= 196; 195: floor(45.17) = 45, limit 195: at least
    exact = freezes(frames(*[40.0] * 29, 195.0))
    below = freezes(frames(*[40.0] * 29, 194.0))
    assert exact is not None
    assert below is not None
    assert (exact.count, below.count) == (1, 0)


def test_at_a_low_frame_rate_three_times_the_gap_is_the_limit() -> None:
    # gaps of 200: max(600, 350) = 600, so 500 is none and 601 is one
    low = [200.0] * 10
    assert [freezes(frames(*low, gap), "prior").count for gap in (500.0, 601.0)] == [0, 1]  # type: ignore[union-attr]


def test_high_delay_is_above_the_limit_not_at_it() -> None:
    # 191 and 300 of four that came back; the lost one does not count
    assert high_delay_share([10.0, 190.0, 191.0, None, 300.0]) == 0.5


def test_an_unknown_rule_for_freezes_is_refused() -> None:
    with pytest.raises(ValueError, match="variant"):
        freezes(frames(40.0, 40.0), "chrome")
