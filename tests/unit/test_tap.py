"""The tap's file, its reduction to bins and quantiles, and its rows in the table `queue`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from store_fakes import EPOCH_NS, default_records, flow_record, make_plan, packet_record

from narrows.errors import StoreError
from narrows.runs.gather import _histogram
from narrows.store import bins, queue_table, reasons, tap, tap_tables
from narrows.store.whose import with_labels

MS = 1_000_000


def written(tmp_path: Path, records: list[bytes]) -> tap.Tap:
    path = tmp_path / "tap.bin"
    path.write_bytes(b"".join(records))
    return tap.read(path)


def test_every_field_of_a_packet_record_is_read_where_the_contract_puts_it(tmp_path: Path) -> None:
    record = packet_record(
        3, 7, 11, flow=70_000, size=1514, outcome=2, reason=3, tos_in=1, tos_out=3, found=(100_000, 66),
        left=(90_000, 60),
    )  # fmt: skip
    (packet,) = written(tmp_path, [record]).packets
    assert packet["hop"] == 3
    assert packet["bytes"] == 1514
    assert packet["flow"] == 70_000
    assert packet["arrival_ns"] == EPOCH_NS + 7
    assert packet["sojourn_ns"] == 11
    assert (packet["backlog_bytes"], packet["backlog_packets"]) == (100_000, 66)
    assert (packet["backlog_bytes_after"], packet["backlog_packets_after"]) == (90_000, 60)
    assert (packet["reason"], packet["outcome"]) == (3, 2)
    assert (packet["tos_in"], packet["tos_out"]) == (1, 3)


def test_a_flow_record_gives_addresses_ports_and_a_label(tmp_path: Path) -> None:
    (flow,) = written(tmp_path, [flow_record(1, 9, "10.0.2.1", 80, "10.0.0.1", 40000)]).flows
    assert (flow.hop, flow.flow, flow.protocol) == (1, 9, "tcp")
    assert flow.label == "tcp 10.0.2.1:80>10.0.0.1:40000"


def test_a_flow_without_ports_has_none(tmp_path: Path) -> None:
    (flow,) = written(tmp_path, [flow_record(1, 9, "10.0.2.1", 0, "10.0.0.1", 0, protocol=1)]).flows
    assert (flow.sport, flow.dport) == (None, None)
    assert flow.label == "icmp 10.0.2.1>10.0.0.1"


def test_a_tap_that_is_cut_off_is_an_error_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "tap.bin"
    path.write_bytes(b"\2" * 50)
    with pytest.raises(StoreError, match="cut off: 50 bytes"):
        tap.read(path)


def test_an_unknown_record_type_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="type 9 at byte 48"):
        written(tmp_path, [packet_record(0, 0, 0), b"\x09" + bytes(47)])


def test_an_unknown_outcome_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="outcome"):
        written(tmp_path, [packet_record(0, 0, 0, outcome=4)])


def test_an_empty_tap_has_no_packets(tmp_path: Path) -> None:
    assert written(tmp_path, []).packets.size == 0


@pytest.mark.parametrize(
    ("tos_in", "tos_out", "is_mark"),
    [(2, 3, True), (1, 3, True), (0, 3, True), (3, 3, False), (2, 2, False), (0xBA, 0xBB, True)],
)
def test_a_mark_is_a_ce_that_the_packet_did_not_bring(
    tmp_path: Path, tos_in: int, tos_out: int, is_mark: bool
) -> None:
    data = written(tmp_path, [packet_record(0, 0, 0, tos_in=tos_in, tos_out=tos_out)])
    assert tap.marked(data.packets).tolist() == [is_mark]


def test_a_dropped_packet_is_never_a_mark(tmp_path: Path) -> None:
    data = written(tmp_path, [packet_record(0, 0, 0, outcome=2, tos_in=2, tos_out=3)])
    assert tap.marked(data.packets).tolist() == [False]


def test_reasons_have_the_kernels_names_and_no_reason_is_null() -> None:
    assert reasons.name(0) is None
    assert reasons.name(2) == "QDISC_OVERLIMIT"
    assert reasons.name(3) == "QDISC_CONGESTED"
    assert reasons.name(0x8002) == "SKB_REASON_2"


def rows(tmp_path: Path, records: list[bytes], mode: str = "packets") -> pl.DataFrame:
    plan = make_plan(tap=mode)
    path = tmp_path / "queue.parquet"
    queue_table.write(path, "r", plan.hops, written(tmp_path, records).packets, EPOCH_NS)
    return pl.read_parquet(path)


def test_each_packet_becomes_an_arrival_and_what_became_of_it_in_order_of_time(tmp_path: Path) -> None:
    frame = rows(tmp_path, default_records()).filter(pl.col("direction") == "down", pl.col("t_ns") >= 0)
    # arrivals at 1, 1.5, 2, 15, 1990 ms; departures at 1 + 1.2, 1.5 + 2 (marked), 15 + 0.3; drop at 2
    expected = [
        (1_000_000, "arrive", 1), (1_500_000, "arrive", 1), (2_000_000, "arrive", 1), (2_000_000, "drop", 1),
        (2_200_000, "depart", 1), (3_500_000, "mark", 1), (3_500_000, "depart", 1), (15_000_000, "arrive", 2),
        (15_300_000, "depart", 2), (1_990_000_000, "arrive", 1),
    ]  # fmt: skip
    assert frame.select("t_ns", pl.col("event").cast(pl.String), "flow").rows() == expected


def test_an_arrival_says_what_it_found_and_a_departure_what_it_left(tmp_path: Path) -> None:
    record = packet_record(0, 5, 10, found=(3028, 2), left=(1514, 1))
    frame = rows(tmp_path, [record])
    columns = ("event", "backlog_bytes", "backlog_packets", "sojourn_ns", "reason")
    assert frame.select(columns).rows() == [("arrive", 3028, 2, None, None), ("depart", 1514, 1, 10, None)]


def test_only_a_drop_has_a_reason(tmp_path: Path) -> None:
    frame = rows(tmp_path, [packet_record(0, 5, 10, outcome=2, reason=3)])
    assert frame["reason"].to_list() == [None, "QDISC_CONGESTED"]


def test_a_packet_left_in_the_queue_has_an_arrival_and_no_end(tmp_path: Path) -> None:
    assert rows(tmp_path, [packet_record(0, 5, 10, outcome=3)])["event"].to_list() == ["arrive"]


def test_hops_in_summary_mode_have_no_rows(tmp_path: Path) -> None:
    assert rows(tmp_path, default_records(), mode="summary").height == 0


def test_a_tap_written_in_slices_gives_the_same_rows_as_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(7)
    arrivals = np.sort(random.integers(0, 10**9, 500))
    records = [
        packet_record(0, int(t), int(random.integers(1, 10**8)), flow=i) for i, t in enumerate(arrivals)
    ]
    records.sort(key=lambda r: int.from_bytes(r[8:16], "little") + int.from_bytes(r[16:24], "little"))
    at_once = rows(tmp_path, records)
    monkeypatch.setattr(queue_table, "SLICE_PACKETS", 90)
    assert rows(tmp_path, records).equals(at_once)
    assert not list(tmp_path.glob(".queue-*"))


def test_throughput_of_a_bin_is_its_departed_bits_over_ten_ms() -> None:
    t = np.array([0, 9_999_999, 10_000_000, 35_000_000, -1])
    size = np.array([1000, 250, 500, 125, 9999])
    # 1250 B × 8 / 10 ms = 1 Mbit/s; 500 B: 0.4; none: 0; 125 B: 0.1
    assert bins.throughput(t, size, 4).tolist() == [1e6, 4e5, 0.0, 1e5]


def test_bins_cover_the_run_to_its_end() -> None:
    assert [bins.bin_count(n) for n in (0, 1, 10 * MS, 10 * MS + 1)] == [0, 1, 1, 2]


def test_quantiles_of_a_bin_are_values_that_a_packet_had() -> None:
    t = np.full(100, 5 * MS)
    values = np.arange(1, 101)[::-1].copy()
    found = {q: g.values.tolist() for q, g in bins.bin_quantiles(t, values, 3).items()}
    assert found == {0.50: [50.0], 0.95: [95.0], 0.99: [99.0]}


def test_an_empty_bin_has_no_quantile() -> None:
    found = bins.bin_quantiles(np.array([25 * MS]), np.array([7]), 3)
    assert found[0.5].bins.tolist() == [2]


def test_the_histogram_keeps_every_value_within_one_64th() -> None:
    random = np.random.default_rng(1)
    values = np.concatenate([np.arange(300), random.integers(0, 2**50, 2000)])
    h = bins.histogram(values)
    assert int(h.packets.sum()) == values.size
    assert bool(np.all(h.upper - h.lower <= np.maximum(1, h.lower // 64)))
    assert bool(np.all(h.upper[:-1] <= h.lower[1:]))
    for lower, upper, packets in zip(h.lower, h.upper, h.packets, strict=True):
        assert packets == np.count_nonzero((values >= lower) & (values < upper))


def test_flows_are_counted_and_attributed_to_their_items(tmp_path: Path) -> None:
    plan = make_plan()
    derived = tap_tables.derive("r", plan, written(tmp_path, default_records()), EPOCH_NS, 2_000_000_000, {})
    down = derived.flows.filter(pl.col("direction") == "down").sort("flow")
    assert down["item"].to_list() == ["cross", "probe"]
    assert down["arrived_packets"].to_list() == [5, 1]
    assert down["departed_packets"].to_list() == [3, 1]
    assert down["dropped_packets"].to_list() == [1, 0]
    assert down["marked_packets"].to_list() == [1, 0]
    assert down["queued_packets"].to_list() == [1, 0]
    assert down["first_ns"].to_list() == [-500_000_000, 15_000_000]
    assert down["last_ns"].to_list() == [2_000_000_000, 15_300_000]


def test_figures_of_the_tap_count_from_the_epoch(tmp_path: Path) -> None:
    derived = tap_tables.derive(
        "r", make_plan(), written(tmp_path, default_records()), EPOCH_NS, 2_000_000_000, {}
    )
    found = {
        (label, name): value
        for label, direction, name, value in with_labels(derived.metrics)
        .select("whose", "direction", "quantity", "value")
        .rows()
        if direction == "down"
    }
    assert found["bottleneck", "tap_arrived"] == 5  # one arrived and left during calibration
    assert found["bottleneck", "tap_departed"] == 3
    assert found["bottleneck", "tap_dropped"] == 1
    assert found["bottleneck/cross", "tap_marked"] == 1
    assert found["bottleneck", "sojourn_max_ms"] == 2.0
    assert found["bottleneck/probe", "sojourn_p50_ms"] == 0.3


def test_summary_mode_gives_the_same_series_as_packets(tmp_path: Path) -> None:
    data = written(tmp_path, default_records())
    made = [
        tap_tables.derive("r", make_plan(tap=mode), data, EPOCH_NS, 2_000_000_000, {})
        for mode in ("packets", "summary")
    ]
    assert made[0].samples.equals(made[1].samples)
    assert made[0].sojourn.equals(made[1].sojourn)


def test_two_items_on_the_same_port_leave_the_flow_without_an_item(tmp_path: Path) -> None:
    plan = make_plan()
    twin = plan.traffic[0].model_copy(update={"id": "twin"})
    both = plan.model_copy(update={"traffic": (*plan.traffic, twin)})
    derived = tap_tables.derive("r", both, written(tmp_path, default_records()), EPOCH_NS, 2_000_000_000, {})
    assert derived.flows.filter(pl.col("flow") == 1)["item"].to_list() == [None, None]


def headerless(*records: bytes) -> list[bytes]:
    """As the engine netns writes them: trace events show no header."""
    return [record[:4] + b"\xff\xff\xff\xff" + record[8:] for record in records]


def test_a_tap_that_saw_no_headers_has_null_flows_and_no_marks(tmp_path: Path) -> None:
    records = headerless(
        packet_record(0, 5, 10_000_000),
        packet_record(0, 6, 0, outcome=2, reason=2),
        packet_record(0, 7, 20_000_000),
    )
    frame = rows(tmp_path, records)
    assert frame["flow"].null_count() == frame.height == 6
    assert frame["reason"].drop_nulls().to_list() == ["QDISC_OVERLIMIT"]
    tables = tap_tables.derive("r", make_plan(), written(tmp_path, records), EPOCH_NS, 50 * MS, {})
    assert (tables.flows.height, tables.packets) == (0, 3)
    figures = dict(tables.metrics.filter(direction="down").select("quantity", "value").iter_rows())
    assert (figures["tap_departed"], figures["tap_dropped"], figures["sojourn_max_ms"]) == (2.0, 1.0, 20.0)
    assert not [name for name in figures if name == "tap_marked" or name.startswith("tap_arrived_")]
    series = set(tables.samples.filter(direction="down")["quantity"].cast(pl.String))
    assert "drops_10ms" in series
    assert "marks_10ms" not in series


def test_a_packet_that_did_not_wait_waited_zero_milliseconds() -> None:
    rows = pl.DataFrame({"lower_ns": [0, 1, 1000], "upper_ns": [1, 2, 1016], "packets": [5, 1, 1]})
    edges, packets = _histogram(rows)
    assert edges.tolist() == [0.0, 1e-6, 1016e-6]
    assert packets.tolist() == [5, 1, 1]
