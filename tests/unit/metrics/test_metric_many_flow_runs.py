"""A run of many flows, from made-up tables; every expected number is derived beside it."""

from __future__ import annotations

import math

import polars as pl
import pytest

from narrows.runs.many_flows import FlowTables, Settling, many_flows

S = 1_000_000_000
START, STOP = 10 * S, 20 * S


def flows_table() -> pl.DataFrame:
    """Two NewReno flows and one BBR flow, measured for 10 s after a warm-up of 10 s."""
    return pl.DataFrame(
        {
            "flow": [1, 2, 3],
            "label": ["tcp a:1>r:5001", "tcp a:2>r:5001", "tcp b:1>r:5002"],
            "node": ["sender1", "sender1", "sender2"],
            "cca": ["reno", "reno", "bbr"],
            "start_ns": [START] * 3,
            "stop_ns": [STOP] * 3,
            "bytes_acked": [10_000_000, 10_000_000, 20_000_000],
            "data_packets_sent": [10_000, 10_000, 20_000],
            "lost_packets": [40, 40, 100],
            "recoveries": [2, 3, 4],
            "timeouts": [0, 1, 0],
            "srtt_mean_us": [100_000.0, 100_000.0, 50_000.0],
            "mss_bytes": [1448] * 3,
        }
    )


def events_table() -> pl.DataFrame:
    rows = [
        # flow, t, kind, reduction: only those in the window, with a reduction, and no timeout are halvings
        (1, 9 * S, "recovery", True),
        (1, 11 * S, "recovery", True),
        (1, 15 * S, "recovery", True),
        (2, 12 * S, "recovery", True),
        (2, 13 * S, "timeout", True),
        (2, 14 * S, "recovery", False),
        (3, 14 * S, "recovery", False),
    ]
    return pl.DataFrame(rows, schema=["flow", "t_ns", "kind", "reduction"], orient="row")


def samples_table() -> pl.DataFrame:
    """Each flow at a steady rate from t = 0; once a second."""
    rate = {1: 1_000_000, 2: 1_000_000, 3: 2_000_000}
    rows = [(flow, t * S, bps * t) for flow, bps in rate.items() for t in range(21)]
    return pl.DataFrame(rows, schema=["flow", "t_ns", "bytes_acked"], orient="row")


def tables(**changes: object) -> FlowTables:
    drops = pl.DataFrame(
        {
            "t_ns": [5 * S, 11 * S, 12 * S, 13 * S, 14 * S, 15 * S],
            "label": ["tcp a:1>r:5001"] * 4 + ["tcp a:2>r:5001", "tcp b:1>r:5002"],
        }
    )
    whole = {
        "tcp_flows": flows_table(), "tcp_events": events_table(), "tcp_samples": samples_table(),
        "drops": drops,
        "levels": pl.DataFrame(
            {"t_ns": [0, START, 15 * S], "value": [9e9, 100.0, 300.0], "lowest": [9e9, 0.0, 0.0]}
        ),
        "rate_bps": 100e6, "mtu_bytes": 1500, "limit_bytes": 1000.0,
        "base_rtt_ns": {"sender1": 20_000_000, "sender2": 10_000_000},
    }  # fmt: skip
    return FlowTables(**(whole | changes))  # type: ignore[arg-type]


def test_goodput_drops_and_halvings_are_those_of_the_window() -> None:
    found = many_flows(tables())
    assert found is not None
    # 10 MB in 10 s = 8 Mbit/s; 20 MB = 16 Mbit/s
    assert found.table["goodput_bps"].to_list() == [8e6, 8e6, 16e6]
    assert found.table["dropped"].to_list() == [3, 1, 1]  # the drop at 5 s is of the warm-up
    assert found.table["halvings"].to_list() == [2, 1, 0]
    assert found.table["base_rtt_ms"].to_list() == [20.0, 20.0, 10.0]
    assert (found.seconds, found.flows, found.drops) == (10.0, 3, 5)


def test_fairness_and_shares_follow_from_the_goodputs() -> None:
    found = many_flows(tables())
    assert found is not None
    # (8 + 8 + 16)^2 / (3 x (64 + 64 + 256)) = 1024 / 1152
    assert found.jain == pytest.approx(1024 / 1152)
    assert found.jain_by_cca == {"bbr": 1.0, "reno": 1.0}
    assert found.shares["bbr"].share == 0.5
    assert found.shares["bbr"].fair_share == pytest.approx(1 / 3)


def test_mathis_is_fitted_on_losses_and_on_halvings() -> None:
    reno = {"tcp_flows": flows_table().filter(pl.col("cca") == "reno")}
    found = many_flows(tables(**reno))
    mixed = many_flows(tables())  # BBR, which never halves, is left out
    assert found is not None
    assert mixed is not None
    assert (mixed.mathis_on_losses, mixed.mathis_on_halvings, mixed.losses_per_halving) == (
        found.mathis_on_losses, found.mathis_on_halvings, found.losses_per_halving,
    )  # fmt: skip
    assert mixed.mathis_choices == found.mathis_choices
    assert found.mathis_on_halvings is not None
    # x = 8 x 1448 / (0.1 sqrt(p)); p = 2e-4 and 1e-4; C = sum(Tx) / sum(x^2), T = 8e6
    x = [8 * 1448 / (0.1 * math.sqrt(p)) for p in (2e-4, 1e-4)]
    c = 8e6 * sum(x) / sum(v * v for v in x)
    assert found.mathis_on_halvings.c == pytest.approx(c)
    assert found.mathis_on_losses is not None
    y = [8 * 1448 / (0.1 * math.sqrt(p)) for p in (3e-4, 1e-4)]
    assert found.mathis_on_losses.c == pytest.approx(8e6 * sum(y) / sum(v * v for v in y))
    assert found.losses_per_halving is not None
    assert found.losses_per_halving.ratio == pytest.approx(4 / 3)


def test_utilisation_is_of_the_largest_goodput_and_occupancy_of_the_limit() -> None:
    found = many_flows(tables())
    assert found is not None
    # 32 Mbit/s of 100 x 1448 / 1514
    assert found.utilisation == pytest.approx(32 / (100 * 1448 / 1514))
    assert found.occupancy_mean == pytest.approx(0.2)  # (100 + 300) / 2 of 1000; the warm-up's 9e9 is out


def test_steady_flows_have_settled_shares_and_the_window_is_told() -> None:
    found = many_flows(tables())
    assert found is not None
    bbr = found.share_settled["bbr"]
    assert bbr.final == pytest.approx(0.5)
    assert bbr.moved == pytest.approx(0.0)
    # series from 11 s (at 10 s nothing is delivered yet) to 20 s: a quarter is 2.25 s; settled at 11 + 3
    assert bbr.over_ns == 2_250_000_000
    assert bbr.settled_ns == 14 * S


def test_a_run_with_a_rule_of_its_own_is_judged_by_its_window_and_share() -> None:
    found = many_flows(tables(settling=Settling(window_ns=4 * S, within=0.5)))
    assert found is not None
    assert found.jain_settled is not None
    assert found.jain_settled.over_ns == 4 * S
    assert found.jain_settled.settled_ns == 15 * S  # 11 + 4


def test_what_was_sampled_after_the_flows_were_stopped_does_not_count() -> None:
    # Stopped at 20 s. Flow 3 alone goes on (its counter doubles): Jain's index would move.
    late = pl.DataFrame([(1, 21 * S, 20_000_000), (2, 21 * S, 20_000_000), (3, 21 * S, 80_000_000)],
                        schema=["flow", "t_ns", "bytes_acked"], orient="row")  # fmt: skip
    found = many_flows(tables(tcp_samples=pl.concat([samples_table(), late])))
    assert found is not None
    assert found.jain_settled is not None
    assert found.jain_settled.moved == pytest.approx(0.0)


def test_bursts_of_drops_are_those_of_the_queue() -> None:
    found = many_flows(tables())
    assert found is not None
    assert found.drop_burstiness is not None
    assert found.drop_burstiness.goh_barabasi == pytest.approx(-1.0)  # one a second: perfectly regular


def test_what_was_not_recorded_is_none_and_never_zero() -> None:
    found = many_flows(tables(drops=None, levels=None, rate_bps=None))
    assert found is not None
    assert found.table["dropped"].null_count() == 3
    assert (found.drops, found.mathis_on_losses, found.losses_per_halving) == (None, None, None)
    assert (found.drop_burstiness, found.occupancy_mean, found.utilisation) == (None, None, None)
    assert many_flows(tables(tcp_flows=flows_table().clear())) is None
