"""iperf3 that was stopped by the plan: its report counts, and what it could not know is missing, not zero."""

from __future__ import annotations

import json

import pytest

from narrows.errors import StoreError
from narrows.tools.iperf3.parse import INTERRUPTED, parse


def report(error: str) -> str:
    side = {"seconds": 25.0, "bytes": 250_000_000, "bits_per_second": 80e6, "retransmits": 51, "sender": True}
    lost = {"seconds": 25.0, "bytes": 0, "bits_per_second": 0}
    start = {"test_start": {"reverse": 0}, "connected": [], "timestamp": {"timesecs": 0}}
    end = {"streams": [], "sum_sent": side, "sum_received": lost}
    return json.dumps({"start": start, "intervals": [], "end": end, "error": error})


def test_a_client_stopped_by_the_plan_has_its_own_side_and_no_goodput() -> None:
    parsed = parse(report(INTERRUPTED), "cross", start_ns=0)
    figures = {metric.name: metric.value for metric in parsed.metrics}
    assert figures["iperf3_sent_bps"] == 80e6
    assert "iperf3_goodput_bps" not in figures


def test_any_other_error_of_iperf3_is_an_error() -> None:
    with pytest.raises(StoreError, match="unable to connect"):
        parse(report("unable to connect to server"), "cross", start_ns=0)
