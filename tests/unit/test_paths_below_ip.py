"""What is said of links below IP, and that a plain link has no sentence."""

from __future__ import annotations

from typing import Any

import polars as pl

from narrows.paths.below_ip import in_words, sentences

ROW: dict[str, Any] = {
    "log": "/logs/server.pcap",
    "sender": "server",
    "client": "10.0.0.1",
    "client_port": 40000,
    "server": "10.0.2.1",
    "server_port": 443,
    "payload_bytes": 5_000_000,
    "throughput_bps": 8e6,
    "vantage": "sender",
    "aggregate_bytes": None,
    "aggregate_segments": None,
    "turn_period_ns": None,
    "reallocation_period_ns": None,
    "reallocations": None,
}


def test_each_thing_that_is_known_is_said() -> None:
    wifi = {"vantage": "receiver", "aggregate_bytes": 21_430.4, "aggregate_segments": 14.8}
    assert in_words(ROW | wifi) == "14.8 segments of data at once"
    assert in_words(ROW | wifi | {"aggregate_segments": None}) == "21430 bytes of data at once"
    satellite = {"turn_period_ns": 1_333_000, "reallocation_period_ns": 15_000_000_000, "reallocations": 3}
    assert in_words(ROW | satellite) == "turns each 1.333 ms, another base RTT each 15 s, 3 times"
    docsis = {"aggregate_bytes": 4000.0, "aggregate_segments": 4.0, "turn_period_ns": 2_000_000}
    assert in_words(ROW | docsis) == "4 segments of acknowledged data at once, turns each 2 ms"


def test_a_plain_link_has_no_sentence() -> None:
    lte = ROW | {"turn_period_ns": 1_000_000, "client_port": 40001, "payload_bytes": 9_000_000}
    schema = pl.Schema(
        {"turn_period_ns": pl.Int64, "aggregate_bytes": pl.Float64, "reallocation_period_ns": pl.Int64}
    )
    rows = pl.DataFrame([ROW, lte], schema_overrides=schema)
    assert sentences(rows, 5) == ["10.0.2.1:443 → 10.0.0.1:40001, 9 MB at 8 Mbit/s: turns each 1 ms"]
    assert sentences(rows.head(1), 5) == []
