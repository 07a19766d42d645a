"""iperf3's figures that cannot be: put right where its report allows, else NULL with a warning."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from made_up_plans import whole
from narrows.tools.iperf3.parse import Tapped, parse, tapped_datagrams

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


def download(lost: int, counted: int, sent: int, tapped: Tapped | None) -> tuple[float | None, list[str]]:
    """A client that receives: it counts until the time is over, whatever is still in the queue."""
    end = {
        "sum": {"seconds": 2.0, "packets": sent, "lost_packets": lost, "jitter_ms": 0.3},
        "sum_sent": {"seconds": 2.0, "bits_per_second": 15e6, "bytes": sent * 1448, "packets": sent},
        "sum_received": {"seconds": 2.0, "bits_per_second": 9.7e6, "bytes": (counted - lost) * 1448},
    }
    said = {
        "start": {"test_start": {"protocol": "UDP", "reverse": 1}, "connected": []},
        "intervals": [{"sum": {"omitted": False, "packets": counted, "lost_packets": lost}, "streams": []}],
        "end": end,
    }
    found = parse(json.dumps(said), "flow", start_ns=None, tapped={} if tapped is None else {"down": tapped})
    return figures(found).get("iperf3_loss_ratio"), [w for w in found.warnings if "datagrams" in w]


def test_a_loss_of_the_first_datagrams_that_the_tap_contradicts_is_not_known() -> None:
    # 15 Mbit/s through 10 with a queue of 700: the first 1679 of 2615 are there, and none is lost yet.
    loss, (warning,) = download(0, 1679, 2615, Tapped(2616, 236, True))
    assert loss is None
    assert "counted 1679 of the 2615 datagrams sent, and 0 of those as lost (0)" in warning
    assert "the tap saw 236 of 2616 dropped" in warning


def test_a_loss_of_the_first_datagrams_that_the_tap_bears_out_is_kept() -> None:
    assert download(0, 1679, 2615, Tapped(2616, 0, True)) == (0.0, [])
    # 0.3105 of 2435, and 820 of 2616 by the tap: 0.3135
    assert download(756, 2435, 2615, Tapped(2616, 820, True)) == (pytest.approx(0.3105, abs=1e-4), [])


def test_where_the_path_loses_too_a_tap_that_saw_less_contradicts_nothing() -> None:
    assert download(49, 2435, 2615, Tapped(2616, 0, False))[0] == pytest.approx(0.0201, abs=1e-4)
    assert download(49, 2435, 2615, Tapped(2616, 0, True))[0] is None
    assert download(49, 2435, 2615, Tapped(2616, 400, False))[0] is None


def test_without_a_tap_few_may_be_missing() -> None:
    assert download(10, 2550, 2615, None)[0] == pytest.approx(10 / 2550)
    loss, (warning,) = download(10, 1679, 2615, None)
    assert loss is None
    assert "there is no tap to ask" in warning


def test_the_tap_counts_datagrams_of_the_first_hop_and_drops_of_all() -> None:
    plan = whole({"link": {"rate_down_bps": 10_000_000, "rate_up_bps": 10_000_000, "mtu_bytes": 1500}})

    def rows(sport: int | None) -> pl.DataFrame:
        return pl.DataFrame(
            [
                {"hop": hop, "direction": "down", "item": "flow", "protocol": protocol, "sport": sport,
                 "arrived_packets": arrived, "dropped_packets": dropped}
                for hop, protocol, arrived, dropped in (
                    ("isp", "udp", 100, 30), ("home", "udp", 70, 5), ("isp", "tcp", 9, 9)
                )
            ],
            schema_overrides={"sport": pl.UInt16},
        )  # fmt: skip

    assert tapped_datagrams(rows(5201), plan, "flow") == {"down": Tapped(100, 35, True)}
    assert tapped_datagrams(rows(None), plan, "flow") == {}, "fragments are no datagrams"
