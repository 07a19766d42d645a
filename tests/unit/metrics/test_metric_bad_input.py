"""Empty, single, missing, infinite and unordered input gives an error or nothing, never a number.

Every module of the metrics is in METRICS, or in ELSEWHERE with what is different about it.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import narrows.metrics
from narrows.metrics.fairness.fairness_over_time import delivered_per_window, jain_over_time
from narrows.metrics.fairness.jain import jain_index
from narrows.metrics.fairness.losses_per_halving import losses_per_halving
from narrows.metrics.fairness.mathis import mathis
from narrows.metrics.fairness.shares import shares
from narrows.metrics.fairness.synchronisation import synchronisation
from narrows.metrics.fairness.time_to_fairness import time_to_fairness_ns
from narrows.metrics.latency.aim import aim_scores, points
from narrows.metrics.latency.bufferbloat_grade import grade
from narrows.metrics.latency.cloudflare import last_median
from narrows.metrics.latency.freezes import freezes
from narrows.metrics.latency.glitches import glitches
from narrows.metrics.latency.goresponsiveness import goresponsiveness
from narrows.metrics.latency.high_delay_share import high_delay_share
from narrows.metrics.latency.ipdv import ipdv, ipdv_range
from narrows.metrics.latency.jitter import jitter
from narrows.metrics.latency.pdv import pdv_quantile
from narrows.metrics.latency.qoo import EXAMPLE, qoo
from narrows.metrics.latency.responsiveness import responsiveness, trimmed_mean
from narrows.metrics.latency.responsiveness_stability import first_stable, is_stable_go
from narrows.metrics.latency.rfc3550_jitter import rfc3550_jitter
from narrows.metrics.latency.rpm_variants import rpm_variants
from narrows.metrics.latency.rrul import rrul
from narrows.metrics.latency.udp_capacity_feedback import delay_range_per_feedback
from narrows.metrics.latency.working_latency import working_latency
from narrows.metrics.queue.burstiness import burstiness, burstiness_of_flows
from narrows.metrics.queue.first_drain import first_drain
from narrows.metrics.rate.best_sub_interval import best_sub_interval
from narrows.metrics.rate.capacity_test import capacity_test
from narrows.metrics.rate.instantaneous_throughput import instantaneous_throughput
from narrows.metrics.rate.request_percentile import request_percentile_bps
from narrows.metrics.rate.utilisation import largest_goodput_bps, utilisation
from narrows.metrics.statistics.arrays import raw
from narrows.metrics.statistics.bias import bias
from narrows.metrics.statistics.bootstrap import std_interval
from narrows.metrics.statistics.columns import aligned
from narrows.metrics.statistics.distribution import distribution
from narrows.metrics.statistics.ecdf import ecdf, weighted_ecdf
from narrows.metrics.statistics.interquartile_mean import interquartile_mean
from narrows.metrics.statistics.interval import quantile_interval
from narrows.metrics.statistics.kolmogorov_smirnov import kolmogorov_smirnov
from narrows.metrics.statistics.rank_correlation import area, spearman
from narrows.metrics.statistics.rank_inversions import rank_inversions
from narrows.metrics.statistics.sequential import Rule, decide
from narrows.metrics.statistics.settled import settled_at
from narrows.metrics.statistics.stability import coefficient_of_variation
from narrows.scoring.any_latency import Delays, latency_values, rpm_values
from narrows.scoring.any_throughput import throughput_values
from narrows.scoring.any_whole import aim_values, rrul_values, stability_values

S = 1_000_000_000


def delays(x: list[Any]) -> Delays:
    """These delays, one per 10 ms."""
    return Delays(np.arange(len(x)) * 1e7, np.array(x, dtype=np.float64), 10_000_000)


def floats(x: list[Any]) -> np.ndarray:
    return np.array(x, dtype=np.float64)


def probe_table(x: list[Any]) -> pl.DataFrame:
    """Foreign and self probes of these times, 20 ms apart."""
    ms = pl.Series(x, dtype=pl.Float64)
    t_ns = pl.Series([k * 20_000_000 for k in range(len(x))], dtype=pl.Int64)
    columns = {"t_ns": t_ns, "tcp_ms": ms, "tls_ms": ms, "http_ms": ms}
    tables = [pl.DataFrame(columns).with_columns(pl.lit(kind).alias("kind")) for kind in ("foreign", "self")]
    return pl.concat(tables).sort("t_ns")


def pings(x: list[Any]) -> pl.DataFrame:
    """RRUL's ping under load."""
    t_ns = pl.Series([10 * S + k for k in range(len(x))], dtype=pl.Int64)
    ping = pl.DataFrame({"t_ns": t_ns, "value": pl.Series(x, dtype=pl.Float64)})
    return ping.with_columns(pl.lit("ping").alias("kind"), pl.lit("ICMP").alias("name"))


METRICS: dict[str, Callable[[list[Any]], object]] = {
    "any_latency": lambda x: [v for v in latency_values(delays(x)) if v.metric != "loss_ratio"] or None,
    "any_latency.rpm_values": lambda x: rpm_values(delays(x), delays(x)) or None,
    "any_throughput": lambda x: throughput_values(*[floats(x)] * 4, (0, 1000)) or None,
    "any_whole": lambda x: aim_values(*[delays(x)] * 3, 1e6, 0.0) or None,
    "any_whole.stability_values": lambda x: (
        stability_values(floats(x), floats(x), delays(x), delays(x), (0, 20 * S)) or None
    ),
    "best_sub_interval": lambda x: best_sub_interval(x, x, 0, 1),
    "bias": lambda x: (found := bias(x, x)) and found.iqr,  # one run has an error, but no spread
    "bootstrap": std_interval,
    "bufferbloat_grade": lambda x: grade(x, x, x) if len(x) > 1 else None,  # one round trip has an increase
    "burstiness": burstiness,
    "burstiness.burstiness_of_flows": lambda x: burstiness_of_flows(x, [1.0] * len(x), 1),
    "capacity_test": lambda x: capacity_test(x, x, [None if v is None else v + 1 for v in x], x, 0.0),
    "cloudflare": last_median,
    "distribution": lambda x: distribution(x).iqr,  # one sample has a median, beside its n, and no spread
    "first_drain": lambda x: first_drain(x, x, x, 10, S).drained_ns,
    "freezes": freezes,
    "glitches": lambda x: glitches(x, 10.0).per_minute,
    "goresponsiveness": lambda x: goresponsiveness(x, x).mean_rpm,
    "kolmogorov_smirnov": lambda x: kolmogorov_smirnov(x, x),
    "high_delay_share": high_delay_share,
    "interquartile_mean": interquartile_mean,
    "interval": quantile_interval,
    "ipdv": ipdv,
    "ipdv.ipdv_range": ipdv_range,
    "jitter": jitter,
    "losses_per_halving": lambda x: losses_per_halving(x, x),
    "mathis": lambda x: mathis(x, x, x, x, 1448),
    "pdv": pdv_quantile,
    "rank_inversions": lambda x: rank_inversions(x, x),
    "qoo": lambda x: qoo(x, 0.0, 1e9, EXAMPLE),
    "rank_correlation": lambda x: spearman(x, x),
    "rank_correlation.area": lambda x: area(x, x) if len(x) > 1 else None,  # of one pair it is a half
    "request_percentile": lambda x: request_percentile_bps(x, x),
    "responsiveness": lambda x: responsiveness(x, x, x, x).rpm,
    "responsiveness.trimmed_mean": trimmed_mean,
    "responsiveness_stability": first_stable,
    "responsiveness_stability.is_stable_go": is_stable_go,
    "rfc3550_jitter": lambda x: rfc3550_jitter(x, x),
    "rpm_variants": lambda x: rpm_variants(probe_table(x), S).draft_09.rpm,
    "rpm_variants.go": lambda x: rpm_variants(probe_table(x), 2 * S).go.p90_rpm,
    "rrul": lambda x: rrul(pings(x)).ping_avg,
    "sequential": lambda x: decide(x, Rule(2, 5, absolute=1.0)).estimate,
    "settled": lambda x: settled_at(x, x, 10),
    "stability": coefficient_of_variation,
    "synchronisation": lambda x: synchronisation(x, x, 10, 10, 0, 1000),
    "time_to_fairness": lambda x: time_to_fairness_ns(x, x, 0),
    "udp_capacity_feedback": lambda x: delay_range_per_feedback(x, x),
    "working_latency": lambda x: working_latency(x, [20.0, 21.0]),
    "working_latency.idle": lambda x: working_latency([20.0, 21.0], x),
}
ELSEWHERE = {
    "aim": "of single figures: below",
    "arrays": "refuses what is infinite: below",
    "bucket": "of packets that left: tests/unit/test_capacity_of_a_run",
    "capacity": "of a plan, not of samples: test_moving_rate",
    "columns": "below",
    "ecdf": "a picture of the samples, whose number it shows: below",
    "fairness_over_time": "of tables: below",
    "flow_case": "reads a plan",
    "flows_sampled": "test_metric_flows_sampled",
    "gather": "reads tables",
    "instantaneous_throughput": "a bin in which nothing left has 0, which is a measurement: below",
    "iqb": "of single figures: tests/unit/metrics/test_metric_path_scores",
    "jain": "of one allocation it is 1 by its definition: below",
    "loaded": "reads items: test_metric_loaders",
    "many_flows": "test_metric_many_flow_runs",
    "mathis_choices": "of a table of flows: test_metric_mathis_choices",
    "max_min": "of demands, where a missing one is no share: test_metric_max_min",
    "observed": "holds series",
    "score": "tests/unit/test_calibrate",
    "scored_run": "tests/unit/test_calibrate",
    "windows": "reads a plan and figures: test_metric_loaders",
    "shares": "a missing amount is an error, because it would move all others: below",
    "tail": "tests/unit/metrics/test_metric_tail",
    "thinned": "a picture of the samples: test_over_time",
    "utilisation": "of single figures: below",
    # compositions of the above, on stored tables
    # what prepares the columns
}


def test_every_module_of_the_metrics_is_accounted_for() -> None:
    found = pkgutil.walk_packages(narrows.metrics.__path__, "narrows.metrics.")
    modules = {module.name.rpartition(".")[2] for module in found if not module.ispkg}
    here = {name.partition(".")[0] for name in METRICS}
    assert here & set(ELSEWHERE) == set()
    assert modules - here - set(ELSEWHERE) == set()


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("values", [[], [300.0], [None, None], [math.nan, math.nan, math.nan]], ids=str)
def test_too_few_samples_give_no_number(name: str, values: list[Any]) -> None:
    assert METRICS[name](values) is None


@pytest.mark.parametrize("name", METRICS)
def test_an_infinite_sample_is_refused_by_every_metric(name: str) -> None:
    with pytest.raises(ValueError, match="infinite"):
        METRICS[name]([1.0, math.inf, 2.0])


@pytest.mark.parametrize(
    "name",
    [
        "any_throughput",
        "any_whole.stability_values",
        "burstiness",
        "first_drain",
        "freezes",
        "settled",
        "time_to_fairness",
        "udp_capacity_feedback",
    ],
)
def test_times_that_go_back_are_refused_with_their_row(name: str) -> None:
    with pytest.raises(ValueError, match=r"row 2 .* is earlier than row 1"):
        METRICS[name]([1.0, 9.0, 3.0, 10.0])


def test_columns_of_different_lengths_are_refused_with_their_names() -> None:
    with pytest.raises(ValueError, match="2 sent, 1 received"):
        aligned(sent=[1, 2], received=[1])


def test_a_row_is_dropped_when_any_of_its_columns_is_missing() -> None:
    sent, received = aligned(sent=[1, 2, None, 4], received=pl.Series([5, None, 7, 8]))
    assert (sent.tolist(), received.tolist()) == ([1.0, 4.0], [5.0, 8.0])


def test_missing_values_keep_their_place_where_order_counts() -> None:
    assert np.isnan(raw([1, None, 3])).tolist() == [False, True, False]
    assert np.isnan(raw(pl.Series([1, None, 3]))).tolist() == [False, True, False]


def test_tables_without_rows_give_no_index_and_no_share() -> None:
    empty = pl.DataFrame(schema={"t_ns": pl.Int64, "flow": pl.Int64, "value": pl.Float64})
    assert jain_over_time(empty).height == 0
    assert shares([], []) is None
    assert shares(["one"], [5.0]) is None


def test_rates_of_a_step_are_not_made_of_packets_without_a_time() -> None:
    none = np.array([math.nan, math.nan])
    found = rrul_values({("down", "1"): (none, none)}, {"probe": delays([5.0] * 20)}, (0, S))
    assert {v.metric: v.value for v in found if v.metric.startswith("rrul_tcp")} == {
        "rrul_tcp_down_sum": 0.0,  # five steps in which nothing left
        "rrul_tcp_down_avg": 0.0,
    }
    with pytest.raises(ValueError, match="infinite"):
        rrul_values({("down", "1"): (none, np.array([math.inf] * 2))}, {"probe": delays([5.0])}, (0, S))


def test_a_delay_without_a_time_is_refused() -> None:
    with pytest.raises(ValueError, match="has no time"):
        Delays(np.array([0.0, math.nan]), np.array([1.0, 2.0]))


def test_pairs_stay_together_where_one_of_them_is_missing() -> None:
    # 1 has no weight and the weight 7 no value: what is left is 2 with 3, not 2 with 7
    steps = weighted_ecdf([1.0, 2.0, None], [None, 3.0, 7.0])
    assert steps is not None
    assert [list(part) for part in steps] == [[2.0], [1.0]]
    # a packet without a size and a size without a packet: 125 bytes in 1 us are left
    _, rate = instantaneous_throughput([100, 200, None], [None, 125, 999], 0, 1000, 1000)
    assert rate.tolist() == [1e9]
    for wrong in ([1.0, 2.0], [1.0, math.inf, 2.0]):
        with pytest.raises(ValueError, match=r"each row needs all|infinite"):
            weighted_ecdf([1.0, 2.0, 3.0], wrong)
        with pytest.raises(ValueError, match=r"each row needs all|infinite"):
            instantaneous_throughput([1.0, 2.0, 3.0], wrong, 0, 1000)


def test_a_picture_of_nothing_is_none() -> None:
    for nothing in ([], [None], [math.nan]):
        assert ecdf(nothing) is None
        assert weighted_ecdf(nothing, nothing) is None
        assert jain_index(nothing) is None
    for metric in (ecdf, jain_index):
        with pytest.raises(ValueError, match="infinite"):
            metric([1.0, math.inf])
    assert jain_index([5.0]) == 1.0


def test_an_outage_has_no_glitches_per_minute_and_its_losses_are_told() -> None:
    outage = glitches([None] * 500, 10.0)
    assert (outage.per_minute, outage.lost, outage.probes) == (None, 500, 500)


@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_missing_counter_gives_no_ratio_and_no_rate(missing: Any) -> None:
    assert utilisation(missing, 1e6) is None
    assert points("latency", missing) is None
    assert aim_scores(20.0, missing, 30.0, 1.0, 1e6) == {"streaming": None, "gaming": None, "rtc": None}


def test_an_infinite_figure_is_refused() -> None:
    endless = math.inf
    for call in (lambda: utilisation(endless, 1e6), lambda: points("download", endless)):
        with pytest.raises(ValueError, match="infinite"):
            call()
    for nonsense in (endless, math.nan, 0.0, -1.0):
        with pytest.raises(ValueError, match=r"room for payload|above zero"):
            largest_goodput_bps(nonsense)
        with pytest.raises(ValueError, match="above zero"):
            utilisation(1.0, nonsense)


def test_a_counter_that_is_not_a_number_is_missing_and_not_zero() -> None:
    # flow 1: 10 then 30, with a hole between; flow 2: 5 then 25. Both delivered 20.
    counters = pl.DataFrame(
        {"t_ns": [0, 1, 2, 0, 2], "flow": [1, 1, 1, 2, 2], "bytes": [10.0, math.nan, 30.0, 5.0, 25.0]}
    )
    windows = delivered_per_window(counters, 10)
    assert windows["value"].to_list() == [20.0, 20.0]
    assert jain_over_time(windows)["jain"].to_list() == [1.0]
    with pytest.raises(ValueError, match="infinite"):
        jain_over_time(windows.with_columns(pl.lit(math.inf).alias("value")))
