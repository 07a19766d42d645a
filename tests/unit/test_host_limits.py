"""A rate that a socket's buffer set is not the link's, and the run says so."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import lab
from narrows.store import host_limits, schema

FLOW = "tcp 10.0.2.1:40000>10.0.0.1:5001"


def said(tmp_path: Path, busy_us: float, sndbuf_us: float, rwnd_us: float) -> list[str]:
    rows = [
        ("tcp_info.busy_time", busy_us),
        ("tcp_info.sndbuf_limited", sndbuf_us),
        ("tcp_info.rwnd_limited", rwnd_us),
    ]
    samples = pl.concat(
        schema.conform(
            pl.DataFrame({"t_ns": [0, 10**9], "value": [0.0, value]}),
            "samples",
            {"hop": "tcp-server", "quantity": series, "flow": FLOW, "unit": "us"},
        )
        for series, value in rows
    )
    return host_limits.warnings(samples.lazy(), lab.plan(tmp_path, lab.SMALL))


def test_a_flow_that_waited_for_its_buffer_is_named_with_the_share_and_the_sysctl(tmp_path: Path) -> None:
    (warning,) = said(tmp_path, 3e6, 2.2e6, 0)  # 2.2 of 3.0 s
    assert "a flow was held back by the sender's buffer (sndbuf_limited)" in warning
    assert "73 % of the time" in warning
    assert FLOW in warning
    assert "net.ipv4.tcp_wmem" in warning
    (warning,) = said(tmp_path, 3e6, 0, 2.9e6)
    assert "the receiver's window (rwnd_limited)" in warning
    assert "net.ipv4.tcp_rmem" in warning


def test_a_start_and_a_request_are_not_worth_a_warning(tmp_path: Path) -> None:
    assert said(tmp_path, 3e6, 0.1e6, 0.2e6) == []  # 3 % and 7 %
    assert said(tmp_path, 0.1e6, 0.1e6, 0.1e6) == []
