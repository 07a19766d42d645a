"""iperf3's figures that cannot be: put right where its report allows, else NULL with a warning."""

from __future__ import annotations

import json
from typing import Any

import pytest

from narrows.tools.iperf3.parse import parse

UPLOAD_UDP = {
    "sum": {"seconds": 5.1, "packets": 8633, "lost_packets": 5223, "lost_percent": 60.5, "jitter_ms": 0.3},
    "sum_sent": {"seconds": 5.0, "bits_per_second": 2e7, "bytes": 12_500_584},
    "sum_received": {"seconds": 5.1, "bits_per_second": 9.7e6, "bytes": 6_240_880},
}
"""20 Mbit/s through 10, the first second omitted: iperf3 3.12 counts its losses, not its datagrams."""


def parsed(end: dict[str, Any], intervals: list[dict[str, Any]], protocol: str = "UDP", **test: Any) -> Any:
    start = {"test_start": {"protocol": protocol, **test}, "connected": []}
    said = {"start": start, "intervals": [{"sum": one, "streams": []} for one in intervals], "end": end}
    return parse(json.dumps(said), "flow", start_ns=None)


def figures(found: Any) -> dict[str, float | None]:
    return {one.name: one.value for one in found.metrics}


def test_losses_of_the_omitted_time_are_held_against_its_datagrams_too() -> None:
    intervals = [{"omitted": True, "packets": 1725}, {"omitted": False, "packets": 8633}]
    found = figures(parsed(UPLOAD_UDP, intervals, omit=1))
    assert found["iperf3_loss_ratio"] == pytest.approx(5223 / (8633 + 1725))  # 0.504; iperf3 says 0.605


def test_where_the_receivers_intervals_are_there_only_the_measured_ones_count() -> None:
    intervals = [
        {"omitted": True, "packets": 1519, "lost_packets": 679},
        {"omitted": False, "packets": 1727, "lost_packets": 888},
        {"omitted": False, "packets": 1726, "lost_packets": 887},
    ]
    found = figures(parsed(UPLOAD_UDP, intervals, omit=1, reverse=1))
    assert found["iperf3_loss_ratio"] == pytest.approx((888 + 887) / (1727 + 1726))


def test_more_lost_than_sent_is_not_known_and_said_with_both_numbers() -> None:
    end = {**UPLOAD_UDP, "sum": {**UPLOAD_UDP["sum"], "packets": 4000}}
    found = parsed(end, [])
    assert figures(found).get("iperf3_loss_ratio") is None
    assert any("5223 of 4000" in text for text in found.warnings)


def test_of_one_datagram_there_is_no_jitter() -> None:
    end = {**UPLOAD_UDP, "sum": {**UPLOAD_UDP["sum"], "packets": 1, "lost_packets": 0}}
    assert figures(parsed(end, [])).get("iperf3_jitter_ms") is None


def test_what_went_into_a_socket_at_once_is_no_rate_of_sending() -> None:
    end = {
        "sum_sent": {"seconds": 0.00002, "bits_per_second": 5.18e10, "bytes": 131_072, "retransmits": 0},
        "sum_received": {"seconds": 0.14, "bits_per_second": 3.75e6, "bytes": 65_160},
    }
    found = parsed(end, [], protocol="TCP")
    assert figures(found).get("iperf3_sent_bps") is None
    assert figures(found)["iperf3_goodput_bps"] == 3.75e6
    assert any("131072 bytes" in text and "3.75 Mbit/s" in text for text in found.warnings)
