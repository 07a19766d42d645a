"""Responsiveness in its three variants, on inputs small enough to work out by hand."""

from __future__ import annotations

import polars as pl
import pytest

from narrows.metrics.latency.goresponsiveness import goresponsiveness
from narrows.metrics.latency.responsiveness import (
    DRAFT_08,
    DRAFT_09,
    responsiveness,
    responsiveness_of,
    trimmed_mean,
)
from narrows.metrics.latency.responsiveness_stability import (
    Confidence,
    assess,
    first_stable,
    is_stable_go,
    moving_average_goodput_bps,
)
from narrows.units import NS_PER_S


def probes(seconds: int, self_ms: list[float]) -> pl.DataFrame:
    """One foreign probe of 10 ms per part and one self probe in the middle of each second."""
    t = [k * NS_PER_S + NS_PER_S // 2 for k in range(seconds)]
    foreign = {
        "t_ns": t,
        "kind": ["foreign"] * seconds,
        "tcp_ms": [10.0] * seconds,
        "tls_ms": [10.0] * seconds,
    }
    own = {"t_ns": t, "kind": ["self"] * seconds, "tcp_ms": [None] * seconds, "tls_ms": [None] * seconds}
    schema = {
        "t_ns": pl.Int64,
        "kind": pl.String,
        "tcp_ms": pl.Float64,
        "tls_ms": pl.Float64,
        "http_ms": pl.Float64,
    }
    tables = [
        pl.DataFrame({**foreign, "http_ms": [10.0] * seconds}, schema=schema),
        pl.DataFrame({**own, "http_ms": self_ms}, schema=schema),
    ]
    return pl.concat(tables).sort("t_ns")


def test_the_trimmed_mean_drops_the_largest_twentieth_and_rounds_what_it_keeps_down() -> None:
    # 20 samples: 19 are kept; 1 + ... + 19 = 190
    assert trimmed_mean([float(k) for k in range(20, 0, -1)]) == 10.0
    # 21 samples: floor(19.95) = 19
    assert trimmed_mean([float(k) for k in range(1, 22)]) == 10.0
    # 2 samples: floor(1.9) = 1; 1 sample: floor(0.95) = 0, nothing is kept
    assert trimmed_mean([5.0, 9.0]) == 5.0
    assert trimmed_mean([5.0]) is None


def test_the_draft_and_goresponsiveness_differ_threefold_on_the_same_probes() -> None:
    ten, hundred = [10.0] * 20, [100.0] * 20
    # draft: foreign 60000 / 10 = 6000, loaded 60000 / 100 = 600, mean 3300
    draft = responsiveness(ten, ten, ten, hundred)
    assert (draft.foreign_rpm, draft.loaded_rpm, draft.rpm) == (6000.0, 600.0, 3300.0)
    # goresponsiveness: 60000 / ((30/3 + 100) / 2) = 60000 / 55 = 1090.9
    go = goresponsiveness([30.0] * 20, hundred)
    assert go.mean_rpm == pytest.approx(60000 / 55)
    assert go.p90_rpm == pytest.approx(60000 / 55)
    assert (go.foreign_mean_rpm, go.self_mean_rpm) == (6000.0, 600.0)


def test_goresponsiveness_takes_the_p90_without_interpolation_over_thirds() -> None:
    # self 1..10: index int(0.9 x 10) = 9, the value 10. foreign 30, 60: thirds 10,10,10,20,20,20; index
    # int(5.4) = 5, the value 20. 60000 / ((10 + 20) / 2) = 4000
    go = goresponsiveness([30.0, 60.0], [float(k) for k in range(1, 11)])
    assert go.p90_rpm == pytest.approx(4000.0)
    # trimmed as the draft asks: self keeps int(9.5) = 9: mean(1..9) = 5. foreign keeps int(5.7) = 5:
    # (30 + 40) / 5 = 14
    meant = goresponsiveness([30.0, 60.0], [float(k) for k in range(1, 11)], 95)
    assert meant.mean_rpm == pytest.approx(60000 / 9.5)


def test_goresponsiveness_keeps_the_twentieth_that_it_says_it_trims() -> None:
    # self 1..40: int(40 x 5 %) = 2 are kept, 1 and 2: 1.5. foreign 30 and 39 times 60: 120 thirds, 6 are
    # kept: 10, 10, 10, 20, 20, 20: 15. 60000 / ((1.5 + 15) / 2). As the draft means it: self keeps 38,
    # mean(1..38) = 19.5; foreign 114: (30 + 111 x 20) / 114 = 19.737.
    foreign, own = [30.0, *[60.0] * 39], [float(k) for k in range(1, 41)]
    go = goresponsiveness(foreign, own)
    assert go.mean_rpm == pytest.approx(60000 / 8.25)
    meant = goresponsiveness(foreign, own, 95)
    assert meant.mean_rpm == pytest.approx(60000 / ((19.5 + 2250 / 114) / 2))
    # 19 self probes: int(0.95) = 0, nothing is left to average
    assert goresponsiveness(foreign, own[:19]).mean_rpm is None
    assert goresponsiveness(foreign, own[:19]).p90_rpm is not None


def test_without_tls_the_foreign_mean_is_over_two_parts_and_not_three_with_a_zero() -> None:
    # 60000 / ((10 + 20) / 2) = 4000; with a zero for TLS it would be 60000 / 10 = 6000
    result = responsiveness([10.0] * 4, None, [20.0] * 4, [30.0] * 4)
    assert (result.foreign_rpm, result.loaded_rpm, result.rpm, result.tls) == (4000.0, 2000.0, 3000.0, False)


def test_a_tls_handshake_counts_per_round_trip() -> None:
    table = probes(4, [100.0] * 4).with_columns(pl.col("tls_ms") * 2, pl.lit(2).alias("tls_round_trips"))
    assert responsiveness_of(table).foreign_rpm == 6000.0


def test_a_table_in_which_only_some_handshakes_have_tls_is_refused() -> None:
    table = probes(4, [100.0] * 4).with_columns(
        pl.when(pl.col("t_ns") < NS_PER_S).then(None).otherwise(pl.col("tls_ms")).alias("tls_ms")
    )
    with pytest.raises(ValueError, match="1 of 4 foreign probes have no TLS time"):
        responsiveness_of(table)


def test_probes_of_one_kind_alone_give_their_part_and_no_rpm() -> None:
    result = responsiveness([], [], [], [100.0] * 4)
    assert (result.rpm, result.foreign_rpm, result.loaded_rpm) == (None, None, 600.0)


def test_the_moving_average_goodput_begins_low_because_nothing_came_before() -> None:
    # 1000 bytes = 8000 bit per interval of 1 s: 8000/4, 16000/4, 24000/4, then 8000
    assert moving_average_goodput_bps([1000] * 5, DRAFT_08).tolist() == [2000, 4000, 6000, 8000, 8000]
    # the same bytes in intervals of 5 s
    assert moving_average_goodput_bps([1000] * 5, DRAFT_09).tolist() == [400, 800, 1200, 1600, 1600]


def test_a_constant_goodput_is_stable_at_interval_6_in_the_draft_and_4_in_goresponsiveness() -> None:
    # moving averages 1/4, 1/2, 3/4, 1, 1, 1, 1: the last four of interval 5 are 3/4, 1, 1, 1 with a standard
    # deviation of 0.108 > 0.05; of interval 6 it is 0.
    averages = moving_average_goodput_bps([1000] * 8, DRAFT_08)
    assert first_stable(averages, DRAFT_08) == 6
    # goresponsiveness: of intervals 0 to 4, the four before the one that has just ended
    assert is_stable_go([1000.0] * 4) is None
    assert is_stable_go([1000.0] * 5) is True
    assert is_stable_go([1000.0] * 4 + [9000.0]) is True


def test_the_draft_compares_with_the_current_value_and_goresponsiveness_with_the_mean() -> None:
    # 100, 100, 100, 112: population standard deviation 12 sqrt(3)/4 = 5.196; 5 % of 112 = 5.6, of 103 = 5.15
    assert first_stable([100.0, 100.0, 100.0, 112.0], DRAFT_08) == 3
    assert is_stable_go([100.0, 100.0, 100.0, 112.0, 112.0]) is False


def test_the_interval_of_1_s_and_of_5_s_judge_the_same_test_differently() -> None:
    # Self probes take 50 ms for 40 s and 1000 ms afterwards; constant goodput, 11 intervals: stage 1 ends at
    # interval 6 in both, stage 2 has intervals 7 to 10.
    table = probes(60, [50.0] * 40 + [1000.0] * 20)
    # -08: it ends at 11 s; the last 4 s hold four probes of 50 ms, of which 3 count: 60000 / 50 = 1200.
    old = assess([1000] * 11, table, DRAFT_08)
    assert (old.goodput_stable_at, old.responsiveness_stable_at) == (6, 10)
    assert (old.goodput_confidence, old.responsiveness_confidence) == (Confidence.HIGH, Confidence.HIGH)
    assert old.result.loaded_rpm == 1200.0
    # -09: it ends at 55 s; the last 20 s hold 5 of 50 and 15 of 1000 ms, of which 5 and 14 count: their mean
    # is (250 + 14000) / 19 = 750 ms, 80 RPM. The RPM of the four intervals are 3600, 3120, 3060, 3040 (loaded
    # 1200, 240, 120, 80; foreign 6000): standard deviation 230 > 5 % of 3040. Not stable, medium.
    new = assess([1000] * 11, table, DRAFT_09)
    assert (new.goodput_stable_at, new.responsiveness_stable_at) == (6, None)
    assert new.responsiveness_confidence is Confidence.MEDIUM
    assert (new.result.loaded_rpm, new.result.rpm) == (pytest.approx(80.0), pytest.approx(3040.0))


def test_the_foreign_half_hides_a_doubling_of_loaded_latency_from_the_stability_rule() -> None:
    # as above with 100 ms: loaded 1200, 991, 814, 691 and RPM 3600, 3496, 3407, 3345: standard deviation 95,
    # 5 % of the last is 167: "stable" with high confidence while the loaded latency is still doubling
    result = assess([1000] * 11, probes(60, [50.0] * 40 + [100.0] * 20), DRAFT_09)
    assert (result.responsiveness_stable_at, result.responsiveness_confidence) == (10, Confidence.HIGH)
    assert result.result.loaded_rpm == pytest.approx(60000 * 19 / 1650)


def test_a_stage_with_fewer_than_four_intervals_has_low_confidence() -> None:
    short = assess([1000] * 9, probes(9, [50.0] * 9), DRAFT_08)
    assert short.goodput_confidence is Confidence.HIGH
    assert short.responsiveness_confidence is Confidence.LOW  # intervals 7 and 8 only
    shorter = assess([1000] * 3, probes(3, [50.0] * 3), DRAFT_08)
    assert (shorter.goodput_confidence, shorter.responsiveness_confidence) == (Confidence.LOW, Confidence.LOW)


def test_a_goodput_that_never_settles_gives_way_at_its_limit() -> None:
    growing = [1000 * 2**k for k in range(12)]
    result = assess(growing, probes(12, [50.0] * 12), DRAFT_08, goodput_limit=5)
    assert (result.goodput_stable_at, result.goodput_confidence) == (None, Confidence.MEDIUM)
    assert (result.responsiveness_stable_at, result.responsiveness_confidence) == (8, Confidence.HIGH)


def test_probes_out_of_order_and_tests_without_intervals_are_refused() -> None:
    with pytest.raises(ValueError, match="earlier than row"):
        assess([1000] * 4, probes(4, [50.0] * 4).reverse(), DRAFT_08)
    with pytest.raises(ValueError, match="no intervals"):
        assess([], probes(1, [50.0]), DRAFT_08)
    with pytest.raises(ValueError, match="kind"):
        responsiveness_of(probes(4, [50.0] * 4).with_columns(pl.lit("other").alias("kind")))
