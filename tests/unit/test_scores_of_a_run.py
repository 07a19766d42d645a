"""What a score says of one made-up run: its truth, when the link was loaded, and whose packets are whose."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from made_up_plans import whole
from narrows.scoring.score import score
from narrows.scoring.scored_run import Load, load_spans, own_items, packets

LINK_FIELDS = {"rate_down_bps": 10_000_000, "rate_up_bps": 10_000_000, "mtu_bytes": 1500}
RATES = dict.fromkeys(("down", "up"), ((0, 10000000),))
S = 1_000_000_000


def queue_rows(
    flow: int, way: str, start_s: float, count: int, every_ms: float, size: int, sojourn_ms: float
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "hop": "bottleneck",
            "direction": way,
            "t_ns": [int(start_s * S + n * every_ms * 1e6) for n in range(count)],
            "flow": flow,
            "bytes": size,
            "sojourn_ns": int(sojourn_ms * 1e6),
        },
        schema_overrides={"flow": pl.UInt32, "bytes": pl.UInt32},
    )


def departures(way: str, rows: pl.DataFrame) -> dict[str, tuple[Any, Any]]:
    return {way: (rows["t_ns"].to_numpy(), rows["bytes"].to_numpy())}


def made_up_score(*, answered: int = 800, unanswered: tuple[str, ...] = ()) -> pl.DataFrame:
    """10 s of a download at half the link beside a probe and a cross flow of a quarter of it; so many of
    the 800 probes come back."""
    plan = {
        "link": LINK_FIELDS,
        "traffic": [
            {"id": "test", "kind": "command"},
            {"id": "probe", "kind": "udp_probe", "interval_ns": 20_000_000},
            {"id": "cross", "kind": "tcp_bulk"},
        ],
    }
    flows = pl.DataFrame(
        [
            {
                "hop": "bottleneck",
                "direction": way,
                "flow": number,
                "label": f"{item} {way}",
                "item": item,
                "protocol": "tcp",
            }
            for number, item in ((1, "test"), (2, "probe"), (3, "cross"))
            for way in ("down", "up")
        ],
        schema_overrides={"flow": pl.UInt32},
    )
    queue = pl.concat(
        [
            queue_rows(1, "down", 5.0, 4128, 10_000 / 4128, 1514, 8.0),  # 5 Mbit/s: 1514 x 8 / 2.4225 ms
            queue_rows(1, "up", 5.0, 1000, 10.0, 66, 1.0),
            queue_rows(2, "down", 0.0, 800, 20.0, 106, 5.0),
            queue_rows(2, "up", 0.0, 800, 20.0, 106, 0.5),
            queue_rows(3, "down", 0.0, 3096, 15_000 / 3096, 1514, 2.0),  # 2.5 Mbit/s
        ]
    ).sort("t_ns")
    samples = pl.DataFrame(
        {
            "item": "probe", "part": None, "hop": None, "quantity": "rtt", "direction": None, "flow": None,
            "t_ns": [n * 20_000_000 for n in range(800)],
            "value": [(20.0 if n < 250 else 25.5) * 1e6 if n < answered else None for n in range(800)],
            "unit": "ns",
        },
        schema_overrides=dict.fromkeys(("part", "hop", "direction", "flow"), pl.String),
    )  # fmt: skip
    return score("r", whole(plan), samples, queue, flows, "test", unanswered)


def one(frame: pl.DataFrame, **equals: str) -> float:
    for column, value in equals.items():
        frame = frame.filter(pl.col(column) == value)
    assert frame.height == 1, frame
    return float(frame["value"][0])


def test_truth_is_what_the_queue_did_to_each_party() -> None:
    found = made_up_score()
    assert found["direction"].unique().to_list() == ["down"]  # its acknowledgements load nothing
    assert one(found, source="truth", series="own", metric="queue_delay_p50") == 9.0  # 8 down + 1 up
    assert one(found, source="truth", series="third party", metric="queue_delay_p95") == 5.5  # 5 + 0.5
    # 10 Mbit/s less 2.5 of the cross flow and 0.0424 of the probe (106 x 8 / 20 ms), x 1448 / 1514 of payload
    left = one(found, source="truth", series="cross traffic", metric="capacity_left")
    assert left == pytest.approx((10e6 - 2.5e6 - 42_400) * 1448 / 1514, rel=2e-3)
    spent = one(found, source="truth", series="own", metric="cost_bytes")
    assert spent == 4128 * 1514 + 1000 * 66


def test_the_same_metrics_are_there_for_the_probe_and_for_the_tap() -> None:
    found = made_up_score()
    assert one(found, source="probe", metric="latency_p50") == pytest.approx(25.5)
    assert one(found, source="probe", metric="working_latency_p50") == pytest.approx(5.5)  # 25.5 - 20 before
    tap = found.filter((pl.col("source") == "bottleneck/own") & (pl.col("series") == "sojourn_down"))
    assert one(tap, metric="latency_p50") == pytest.approx(8.0)
    assert one(found, source="bottleneck/own", metric="throughput_mean") == pytest.approx(
        5e6 * 1448 / 1514, rel=2e-3
    )


def test_a_run_whose_tool_loaded_nothing_has_no_rows_and_no_invented_truth() -> None:
    assert load_spans({}, RATES) == {}
    assert load_spans(departures("up", queue_rows(1, "up", 5.0, 100, 2.0, 66, 1.0)), RATES) == {}


def test_a_small_message_now_and_then_is_no_load() -> None:
    data = pl.concat(
        [queue_rows(1, "up", 10.0, 5000, 2.0, 1514, 1.0), queue_rows(1, "up", 2.0, 4, 250.0, 1200, 0.1)]
    )
    assert load_spans(departures("up", data), RATES) == {"up": Load(((10 * S, 20 * S),))}


def test_a_long_pause_is_no_load_and_is_taken_out_of_the_times() -> None:
    # 2 s of load, 0.5 s of pause, 1 s of load, 3 s of pause, 2 s of load
    parts = [queue_rows(1, "up", at, n, 2.0, 1514, 1.0) for at, n in ((1.0, 1000), (3.5, 500), (7.5, 1000))]
    load = load_spans(departures("up", pl.concat(parts)), RATES)["up"]
    assert load.spans == ((1 * S, int(4.5 * S)), (int(7.5 * S), int(9.5 * S)))
    assert load.window == (1 * S, int(6.5 * S))  # 3.5 s and 2 s
    t_ns, value = load.of(np.array([0.5, 2.0, 5.0, 8.0, 9.6]) * S, np.arange(5.0))
    assert (t_ns / S).tolist() == [2.0, 5.0]  # 8 s less the pause of 3 s
    assert value.tolist() == [1.0, 3.0]


def test_parts_of_a_tool_are_those_that_the_plan_says() -> None:
    owners = {"test": "test", "test-server": "test", "test.down": "test", "test-like": "test-like"}
    plan = whole({"traffic": [{"id": name, "kind": "command"} for name in owners]})
    owned = tuple(each.model_copy(update={"item": owners[each.id]}) for each in plan.traffic)
    owned_plan = plan.model_copy(update={"traffic": owned})
    assert own_items(owned_plan, "test") == ["test", "test-server", "test.down"]


def test_packets_are_parted_by_hop_direction_and_party_in_order_of_time() -> None:
    flows = pl.DataFrame(
        {"hop": ["a", "a", "b"], "direction": "down", "flow": [1, 2, 1], "item": ["test", None, "cross"],
         "protocol": ["tcp", "udp", "udp"]},
        schema_overrides={"flow": pl.UInt32},
    )  # fmt: skip
    queue = pl.DataFrame(
        {"hop": ["b", "a", "a", "a", "a", "b"], "direction": ["down"] * 5 + ["up"],
         "t_ns": [-1, 7, 5, 6, 8, 9], "flow": [1, 1, 1, 2, None, 1],
         "bytes": [1, 2, 3, 4, 5, 6], "sojourn_ns": [0] * 6},
        schema_overrides={"flow": pl.UInt32},
    )  # fmt: skip
    found = packets(queue, flows, lambda item: item or "nobody's")
    # of hop b one is before t = 0, the other goes up, where flow 1 is unknown; a NULL flow is nobody's
    assert list(found) == [("a", "down", "nobody's"), ("a", "down", "test"), ("b", "up", "nobody's")]
    assert found["a", "down", "test"].t_ns.tolist() == [5, 7]
    assert found["a", "down", "test"].bytes.tolist() == [3, 2]
    assert found["a", "down", "test"].tcp.tolist() == [True, True]
    assert found["a", "down", "nobody's"].flow.tolist() == [2, -1]
    assert found["b", "up", "nobody's"].t_ns.tolist() == [9]


def test_a_probe_that_is_still_on_its_way_is_not_lost() -> None:
    # The load runs from 5 to 15 s, in which 500 probes are sent; 50 of them do not come back.
    lost = made_up_score(answered=700)
    chosen = {"source": "probe", "series": "rtt", "metric": "loss_ratio"}
    assert one(lost, **chosen) == pytest.approx(50 / 500, abs=0.002)
    open_ = made_up_score(answered=700, unanswered=("probe",))
    mine = open_.filter((pl.col("source") == "probe") & (pl.col("series") == "rtt"))
    assert "loss_ratio" not in mine["metric"].to_list()
    counted = mine.filter(pl.col("version").str.contains("or lost"))
    assert counted.height == 0
    # What came back is scored as before.
    p50 = chosen | {"metric": "latency_p50"}
    assert one(open_, **p50) == one(lost, **p50) == 25.5
