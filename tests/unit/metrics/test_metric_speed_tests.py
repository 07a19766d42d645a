"""Metrics of speed tests other than responsiveness, on inputs small enough to work out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from narrows.metrics.latency.aim import Score, aim_scores, points
from narrows.metrics.latency.cloudflare import last_median
from narrows.metrics.latency.rrul import rrul
from narrows.metrics.latency.udp_capacity_feedback import UDPST_TOLERATED, decision, delay_range_per_feedback
from narrows.metrics.rate.best_sub_interval import best_sub_interval
from narrows.metrics.rate.capacity_test import capacity_test
from narrows.metrics.rate.request_percentile import request_percentile_bps
from narrows.metrics.statistics.interquartile_mean import interquartile_mean

MS = 1_000_000
S = 1_000_000_000


def test_the_p90_of_requests_leaves_out_short_and_empty_ones() -> None:
    # 1..11 Mbit/s in 20 ms each: index 0.9 x 10 = 9, the value 10. 100 Mbit/s in 9 ms and 0 bit/s do not
    # count; 10 ms exactly would.
    rates = [1e6 * k for k in range(1, 12)]
    assert request_percentile_bps([*rates, 1e8, 0.0], [20.0] * 11 + [9.0, 50.0]) == pytest.approx(10e6)
    assert request_percentile_bps([1e6, 3e6], [10.0, 10.0]) == pytest.approx(2.8e6)


def test_the_median_of_the_last_20_forgets_what_came_before() -> None:
    # 100 ms thirty times, then 10 ms twenty times: the median of all would be 100
    assert last_median([100.0] * 30 + [10.0] * 20) == 10.0


def test_aim_points_follow_the_published_tables() -> None:
    # latency 8: 20, increase 5: 20, jitter 3: 10, 200 Mbit/s: 30, no loss test: 0
    # streaming 20 + 0 + 30 + 20 = 70 great; gaming 40 great; rtc 50 great
    scores = aim_scores(8.0, 13.0, 12.0, 3.0, 200e6)
    assert scores == {
        "streaming": Score(70, "great"),
        "gaming": Score(40, "great"),
        "rtc": Score(50, "great"),
    }
    # a measured loss of 0 is worth 10 points more than no measurement
    measured = aim_scores(8.0, 13.0, 12.0, 3.0, 200e6, packet_loss=0.0)["gaming"]
    assert measured == Score(50, "great")
    # latency 20: 5; increase max(120, 30) - 20 = 100: -10; loss 0.05: 0; jitter 10: 5; 10 Mbit/s: 10
    # streaming 5 - 10 + 0 + 10 = 5 bad; gaming max(0, -5) = 0 bad; rtc 5 + 5 + 0 - 10 = 0 bad
    scores = aim_scores(20.0, 120.0, 30.0, 10.0, 10e6, packet_loss=0.05)
    assert [score.points if score else None for score in scores.values()] == [5, 0, 0]
    assert {score.name for score in scores.values() if score} == {"bad"}


def test_a_value_at_a_threshold_falls_into_the_next_step() -> None:
    assert (points("latency", 9.99), points("latency", 10.0)) == (20, 10)
    assert (points("download", 1e6 - 1), points("download", 1e6)) == (0, 5)


def test_an_experience_with_a_missing_measurement_has_no_score() -> None:
    # the program's max(x, undefined) = NaN would score 20 points
    scores = aim_scores(8.0, 13.0, None, 3.0, 200e6)
    assert scores == {"streaming": None, "gaming": None, "rtc": None}
    assert aim_scores(8.0, 13.0, 13.0, None, 200e6)["rtc"] is None


def test_the_interquartile_mean_weighs_the_samples_at_the_quartiles() -> None:
    # 1..8: 3, 4, 5, 6 are the middle half
    assert interquartile_mean([8, 1, 7, 2, 6, 3, 5, 4]) == 4.5
    # five samples: 1.25 are cut at each end, so 2 and 4 count 0.75: (1.5 + 3 + 3) / 2.5 = 3; 100 is out
    assert interquartile_mean([100, 1, 2, 3, 4]) == pytest.approx(3.0)
    # three: 0.75 cut at each end: (0.25 + 2 + 0.75) / 1.5 = 2
    assert interquartile_mean([1, 2, 3]) == pytest.approx(2.0)


def test_rrul_summaries_are_per_class_and_cut_the_load_phase() -> None:
    rows = [
        ("tcp_down", "BE", 4 * S, 999.0),  # before the load: not in it
        ("tcp_down", "BE", 5 * S, 10.0),
        ("tcp_down", "BE", 64 * S, 20.0),
        ("tcp_down", "BE", 65 * S, 999.0),  # after the load
        ("tcp_down", "EF", 30 * S, 39.0),
        ("tcp_down", "EF", 31 * S, 41.0),
        ("tcp_up", "BE", 30 * S, 5.0),
        ("tcp_up", "BE", 31 * S, 5.0),
        ("ping", "UDP EF", 1 * S, 2.0),
        ("ping", "UDP EF", 2 * S, 2.0),
        ("ping", "UDP EF", 10 * S, 8.0),
        ("ping", "UDP EF", 11 * S, 8.0),
        ("ping", "ICMP", 1 * S, 3.0),
        ("ping", "ICMP", 2 * S, 5.0),
        ("ping", "ICMP", 10 * S, None),  # lost
        ("ping", "ICMP", 11 * S, 11.0),
        ("ping", "ICMP", 12 * S, 13.0),
    ]
    table = pl.DataFrame(rows, schema=["kind", "name", "t_ns", "value"], orient="row")
    result = rrul(table)
    # BE 15, EF 40: sum 55, average 27.5; up 5; totals 60. Ping 8 and 12: 10; idle 2 and 4: 3
    assert (result.tcp_down_sum, result.tcp_down_avg, result.tcp_up_sum) == (55.0, 27.5, 5.0)
    assert (result.tcp_totals, result.ping_avg, result.ping_idle_avg) == (60.0, 10.0, 3.0)
    assert result.series["tcp_down", "BE"].loaded.n == 2
    with pytest.raises(ValueError, match="kind"):
        rrul(table.with_columns(pl.lit("web").alias("kind")))


def test_an_rrul_sum_without_one_of_its_flows_is_no_number() -> None:
    # the flow of EF has one sample under load, which is no mean
    rows = [("tcp_down", "BE", (10 + k) * S, 10.0) for k in range(2)]
    rows += [("tcp_down", "EF", 1 * S, 10.0), ("tcp_down", "EF", 20 * S, 10.0)]
    result = rrul(pl.DataFrame(rows, schema=["kind", "name", "t_ns", "value"], orient="row"))
    assert (result.tcp_down_sum, result.tcp_up_sum, result.tcp_totals) == (None, None, None)


def test_the_delay_range_of_a_feedback_is_above_the_smallest_delay_so_far() -> None:
    # smallest so far 5, 5, 5, 3: above it 0, 10, 95, 0; feedback 0 has the first two, 1 the third, 3 the last
    table = delay_range_per_feedback([10 * MS, 20 * MS, 60 * MS, 160 * MS], [5.0, 15.0, 100.0, 3.0])
    assert table is not None
    assert table["t_ns"].to_list() == [0, 50 * MS, 150 * MS]
    assert table["delay_range_ms"].to_list() == [10.0, 95.0, 0.0]
    assert table["packets"].to_list() == [2, 1, 1]


def test_the_rate_follows_the_thresholds_and_the_tolerated_anomalies_of_each_version() -> None:
    assert [decision(ms, 0) for ms in (10.0, 30.0, 60.0, 90.0, 91.0)] == [
        "up",
        "hold",
        "hold",
        "hold",
        "down",
    ]
    # five lost packets: within udpst's 10, beyond the RFC's 0
    assert decision(10.0, 5, tolerated=UDPST_TOLERATED) == "up"
    assert decision(10.0, 5, tolerated=0) == "down"
    assert decision(None, 0) is None
    assert decision(None, 11) == "down"


def test_the_best_sub_interval_is_the_largest_and_only_whole_ones_count() -> None:
    # 1000, 3000, 2000 bytes in the three whole seconds; 9000 in the half one at the end do not count
    t = [S // 2, 3 * S // 2, 5 * S // 2, 3 * S + S // 4]
    result = best_sub_interval(t, [1000, 3000, 2000, 9000], 0, 3 * S + S // 2)
    assert result is not None
    assert (result.capacity_bps, result.mean_bps, result.index) == (24_000.0, 16_000.0, 1)
    assert best_sub_interval(t, [1, 1, 1, 1], 0, S) is None
    assert best_sub_interval(t, [1, 1, 1, 1], 100 * S, 110 * S) is None


def test_a_capacity_test_counts_all_connections_after_the_omitted_ramp() -> None:
    # two connections, three intervals of 1 s; the first is the ramp: (2 + 2 + 1 + 1) MB x 8 / 2 s = 24 Mbit/s
    columns = ([1, 1, 1, 2, 2, 2], [0.0, 1.0, 2.0] * 2, [1.0, 2.0, 3.0] * 2)
    size = [100_000, 2e6, 2e6, 100_000, 1e6, 1e6]
    result = capacity_test(*columns, size, omit_s=1.0, retransmits=[50, 1, 0, 50, 2, 0])
    assert result is not None
    assert (result.rate_bps, result.seconds, result.connections, result.retransmits) == (24e6, 2.0, 2, 3)
    # without omitting: 6.2 MB x 8 / 3 s = 16.5 Mbit/s: the ramp lowers the result by a third
    whole = capacity_test(*columns, size, omit_s=0.0)
    assert whole is not None
    assert whole.rate_bps == pytest.approx(6.2e6 * 8 / 3)
    assert whole.retransmits is None
    assert capacity_test(*columns, size, omit_s=3.0) is None


def test_intervals_that_overlap_are_refused() -> None:
    with pytest.raises(ValueError, match="overlap"):
        capacity_test([1, 1], [0.0, 0.0], [1.0, 10.0], [1e6, 1e7], omit_s=0.0)
