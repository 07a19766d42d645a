"""Senders by TCP_INFO samples alone, on made-up series; every expected number is derived beside it."""

from __future__ import annotations

import polars as pl
import pytest

from narrows.runs.flows_sampled import FIELDS, Sender, flows_sampled

S = 1_000_000_000
LABEL = "tcp 10.0.1.1:40000>10.0.0.1:5001"
SENDERS = {"flow": Sender("sender1", "reno")}


def samples(rows: list[dict[str, float]]) -> pl.DataFrame:
    """Once a second from 0 on; what a row does not say is zero."""
    made = [
        ("flow", f"tcp_info.{name}", LABEL, t * S, float(row.get(name, 0)))
        for t, row in enumerate(rows)
        for name in FIELDS
    ]
    return pl.DataFrame(made, schema=["item", "quantity", "flow", "t_ns", "value"], orient="row")


ROWS = [
    {"bytes_acked": 0, "snd_ssthresh": 2**31 - 1, "rtt": 100, "snd_mss": 1448},
    {"bytes_acked": 1000, "snd_ssthresh": 40, "data_segs_out": 10, "rtt": 100, "snd_mss": 1448},
    {"bytes_acked": 3000, "snd_ssthresh": 40, "data_segs_out": 30, "rtt": 200, "snd_mss": 1448},
    {"bytes_acked": 6000, "snd_ssthresh": 30, "data_segs_out": 60, "rtt": 300, "total_retrans": 2,
     "snd_mss": 1448},
    {"bytes_acked": 7000, "snd_ssthresh": 15, "data_segs_out": 70, "rtt": 400, "total_retrans": 5,
     "total_rto": 1, "snd_mss": 1448},
]  # fmt: skip


def test_counters_are_those_between_the_first_and_the_last_sample_of_the_window() -> None:
    found = flows_sampled(samples(ROWS), SENDERS, S, 4 * S)
    assert found is not None
    (flow,) = found.flows.iter_rows(named=True)
    assert (flow["start_ns"], flow["stop_ns"], flow["label"]) == (S, 4 * S, LABEL)
    assert (flow["bytes_acked"], flow["data_packets_sent"], flow["retransmitted_packets"]) == (6000, 60, 5)
    assert (flow["timeouts"], flow["mss_bytes"], flow["node"], flow["cca"]) == (1, 1448, "sender1", "reno")
    assert flow["srtt_mean_us"] == pytest.approx(250)  # 100, 200, 300, 400
    assert (flow["lost_packets"], flow["recoveries"]) == (None, None)


def test_a_halving_is_a_change_of_the_threshold_and_a_timeout_is_told_apart() -> None:
    found = flows_sampled(samples(ROWS), SENDERS, 0, 4 * S)
    assert found is not None
    # infinite to 40, 40 to 30, 30 to 15 with a timeout; 40 to 40 is none
    assert found.events.select("t_ns", "kind").rows() == [
        (S, "recovery"), (3 * S, "recovery"), (4 * S, "timeout"),
    ]  # fmt: skip


def test_without_samples_or_with_one_there_is_nothing() -> None:
    assert flows_sampled(samples([]), SENDERS, 0, S) is None
    assert flows_sampled(samples(ROWS), SENDERS, 4 * S, 9 * S) is None
    assert flows_sampled(samples(ROWS), {}, 0, 4 * S) is None
    lacking = samples(ROWS).filter(pl.col("quantity") != "tcp_info.snd_cwnd")
    assert flows_sampled(lacking, SENDERS, 0, 4 * S) is None


def test_a_threshold_that_was_never_set_has_no_samples_and_means_no_halving() -> None:
    never = samples(ROWS).filter(pl.col("quantity") != "tcp_info.snd_ssthresh")
    found = flows_sampled(never, SENDERS, 0, 4 * S)
    assert found is not None
    assert found.flows.height == 1
    assert found.events.height == 0
