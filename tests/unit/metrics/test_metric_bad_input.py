"""Empty, single, missing, infinite and unordered input gives an error or nothing, never a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from narrows.metrics.best_sub_interval import best_sub_interval
from narrows.metrics.bias import bias
from narrows.metrics.burstiness import burstiness
from narrows.metrics.capacity_test import capacity_test
from narrows.metrics.cloudflare import last_median, loaded_latency
from narrows.metrics.columns import aligned, raw
from narrows.metrics.fairness_over_time import jain_over_time
from narrows.metrics.freezes import freezes
from narrows.metrics.goresponsiveness import goresponsiveness
from narrows.metrics.high_delay_share import high_delay_share
from narrows.metrics.interquartile_mean import interquartile_mean
from narrows.metrics.ipdv import ipdv, ipdv_range
from narrows.metrics.losses_per_halving import losses_per_halving
from narrows.metrics.mathis import mathis
from narrows.metrics.ndt7_loaded_latency import ndt7_loaded_latency
from narrows.metrics.occupancy import occupancy
from narrows.metrics.pdv import pdv, pdv_quantile
from narrows.metrics.rank_inversions import rank_inversions
from narrows.metrics.request_percentile import request_percentile_bps
from narrows.metrics.responsiveness import responsiveness, trimmed_mean
from narrows.metrics.rfc3550_jitter import rfc3550_jitter
from narrows.metrics.settled import settled_at
from narrows.metrics.shares import shares
from narrows.metrics.synchronisation import synchronisation
from narrows.metrics.time_to_fairness import time_to_fairness_ns
from narrows.metrics.udp_capacity_feedback import delay_range_per_feedback

METRICS: dict[str, Callable[[list[Any]], object]] = {
    "best_sub_interval": lambda x: best_sub_interval(x, x, 0, 1),
    "bias": lambda x: (found := bias(x, x)) and found.iqr,  # one run has an error, but no spread
    "burstiness": burstiness,
    "capacity_test": lambda x: capacity_test(x, x, [None if v is None else v + 1 for v in x], x, 0.0),
    "last_median": last_median,
    "loaded_latency": lambda x: loaded_latency(x, x, x, x).latency_ms,
    "freezes": freezes,
    "goresponsiveness": lambda x: goresponsiveness(x, x).mean_rpm,
    "high_delay_share": high_delay_share,
    "interquartile_mean": interquartile_mean,
    "ipdv": ipdv,
    "ipdv_range": ipdv_range,
    "losses_per_halving": lambda x: losses_per_halving(x, x),
    "mathis": lambda x: mathis(x, x, x, x, 1448),
    "ndt7_loaded_latency": lambda x: ndt7_loaded_latency(x, x),
    "occupancy": lambda x: occupancy(x, x, 0, 1000),
    "pdv": pdv,
    "pdv_quantile": pdv_quantile,
    "rank_inversions": lambda x: rank_inversions(x, x),
    "request_percentile": lambda x: request_percentile_bps(x, x),
    "responsiveness": lambda x: responsiveness(x, x, x, x).rpm,
    "rfc3550_jitter": lambda x: rfc3550_jitter(x, x),
    "settled": lambda x: settled_at(x, x, 10),
    "synchronisation": lambda x: synchronisation(x, x, 10, 10, 0, 1000),
    "time_to_fairness": lambda x: time_to_fairness_ns(x, x, 0),
    "trimmed_mean": trimmed_mean,
    "udp_capacity_feedback": lambda x: delay_range_per_feedback(x, x),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("values", [[], [300.0], [None, None], [math.nan, math.nan, math.nan]], ids=str)
def test_too_few_samples_give_no_number(name: str, values: list[Any]) -> None:
    assert METRICS[name](values) is None


@pytest.mark.parametrize("name", METRICS)
def test_an_infinite_sample_is_refused_by_every_metric(name: str) -> None:
    with pytest.raises(ValueError, match="infinite"):
        METRICS[name]([1.0, math.inf, 2.0])


@pytest.mark.parametrize(
    "name", ["burstiness", "freezes", "occupancy", "settled", "time_to_fairness", "udp_capacity_feedback"]
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
