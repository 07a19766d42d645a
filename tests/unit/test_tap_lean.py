"""The lean tap (`drops`): intervals and single drops, their series and their checks, on made-up bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from store_fakes import EPOCH_NS, flow_record, make_plan, packet_record

from narrows.errors import StoreError
from narrows.plan.model import Plan
from narrows.store import conservation, queue_table, tap, tap_intervals, tap_tables
from narrows.store.agent_result import TapTotals

MS = 1_000_000


def interval(
    hop: int, t_ns: int, arrived: int, departed: int, dropped: int, marked: int = 0, *,
    levels: tuple[int, int, int] = (0, 0, 0), sojourn: tuple[int, int] = (0, 0),
) -> list[bytes]:  # fmt: skip
    """Both records; packets of 1000 bytes, levels (min, mean × 1000, max) in packets."""
    low, mean, high = levels
    start = EPOCH_NS + t_ns
    return [
        struct.pack("<BBHIQIIIIIIQ", 3, hop, 0, marked, start, arrived, arrived * 1000, departed,
                    departed * 1000, dropped, dropped * 1000, sojourn[0]),
        struct.pack("<BB6xQIIIIIIQ", 4, hop, start, low * 1000, mean, high * 1000, low, mean, high,
                    sojourn[1]),
    ]  # fmt: skip


RECORDS = [
    *interval(0, -10 * MS, 5, 5, 0),
    flow_record(0, 1, "10.0.2.1", 40000, "10.0.0.1", 5201),
    packet_record(0, 1 * MS, 0, size=1000, outcome=2, reason=2, found=(3000, 3)),
    *interval(0, 0, 4, 2, 1, levels=(0, 1500, 3), sojourn=(6 * MS, 5 * MS)),
    packet_record(0, 9 * MS, 12 * MS, size=1000, tos_in=2, tos_out=3),
    *interval(0, 20 * MS, 1, 2, 0, 1, levels=(0, 250, 1), sojourn=(13 * MS, 12 * MS)),
]


def plan() -> Plan:
    return make_plan(tap="drops")


def data(tmp_path: Path, records: list[bytes] = RECORDS) -> tap.Tap:
    path = tmp_path / "tap.bin"
    path.write_bytes(b"".join(records))
    return tap.read(path)


def derived(tmp_path: Path) -> tap_tables.TapTables:
    return tap_tables.derive("run", plan(), data(tmp_path), EPOCH_NS, 40 * MS, {})


def series(tables: tap_tables.TapTables, name: str) -> list[float]:
    rows = tables.samples.filter(
        (tables.samples["quantity"] == name) & (tables.samples["direction"] == "down")
    )
    return list(rows["value"])


def test_an_interval_without_a_record_is_zero(tmp_path: Path) -> None:
    tables = derived(tmp_path)
    assert series(tables, "arrivals_10ms") == [4, 0, 1, 0]
    assert series(tables, "drops_10ms") == [1, 0, 0, 0]
    assert series(tables, "marks_10ms") == [0, 0, 1, 0]
    assert series(tables, "throughput_10ms") == [2000 * 800, 0, 2000 * 800, 0]  # 8 bit / 10 ms
    assert series(tables, "backlog_mean_packets_10ms") == [1.5, 0, 0.25, 0]
    assert series(tables, "backlog_max_bytes_10ms") == [3000, 0, 1000, 0]


def test_marks_that_no_one_saw_are_missing_and_not_zero(tmp_path: Path) -> None:
    read = data(tmp_path, interval(0, 0, 4, 2, 1, tap.UNKNOWN_MARKS))
    tables = tap_tables.derive("run", plan(), read, EPOCH_NS, 40 * MS, {})
    assert series(tables, "arrivals_10ms") == [4, 0, 0, 0]
    assert series(tables, "marks_10ms") == []
    assert "tap_marked" not in list(tables.metrics.filter(direction="down")["quantity"])
    assert "marked_packets" not in tap_intervals.totals(read.intervals)


def test_an_interval_in_which_nothing_departed_has_no_sojourn_time(tmp_path: Path) -> None:
    tables = derived(tmp_path)
    assert series(tables, "sojourn_mean_10ms") == [3 * MS, 6.5 * MS]
    assert series(tables, "sojourn_max_10ms") == [5 * MS, 12 * MS]


def test_metrics_begin_at_zero_and_packets_are_those_of_the_whole_run(tmp_path: Path) -> None:
    tables = derived(tmp_path)
    down = tables.metrics.filter(tables.metrics["direction"] == "down")
    values = {str(row["quantity"]): row["value"] for row in down.iter_rows(named=True)}
    assert values["tap_arrived"] == 5
    assert values["tap_dropped"] == 1
    assert values["sojourn_mean_ms"] == pytest.approx((6 + 13) / 4)
    assert tables.packets == 10


def test_a_flow_knows_its_drops_and_marks_and_nothing_else(tmp_path: Path) -> None:
    (flow,) = derived(tmp_path).flows.iter_rows(named=True)
    assert (flow["dropped_packets"], flow["marked_packets"], flow["item"]) == (1, 1, "cross")
    assert flow["arrived_packets"] is None
    assert flow["departed_bytes"] is None


def test_the_queue_table_has_the_packets_that_were_dropped_or_marked(tmp_path: Path) -> None:
    path = tmp_path / "queue.parquet"
    taps = data(tmp_path)
    rows = queue_table.rows("run", plan().hops, taps.packets, taps.packets, EPOCH_NS)
    assert list(rows["event"]) == ["arrive", "drop", "arrive", "mark", "depart"]
    assert queue_table.write(path, "run", plan().hops, taps.packets, EPOCH_NS) == 5


def test_intervals_and_single_records_must_both_agree_with_the_totals(tmp_path: Path) -> None:
    said = TapTotals(
        arrived_packets=10, arrived_bytes=10_000, departed_packets=9, departed_bytes=9_000, dropped_packets=1,
        dropped_bytes=1_000, marked_packets=1, queued_packets=0, queued_bytes=0,
    )  # fmt: skip
    checks = conservation._tap_checks(0, plan().hops[0], said, data(tmp_path), True)
    assert [check.ok for check in checks] == [True, True, True]
    wrong = said.model_copy(update={"dropped_packets": 2, "departed_packets": 8})
    checks = conservation._tap_checks(0, plan().hops[0], wrong, data(tmp_path), True)
    assert [check.ok for check in checks] == [True, False, False]  # they still add up


def test_half_an_interval_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="do not belong together"):
        data(tmp_path, RECORDS[:1])


@pytest.mark.parametrize(("ns", "name"), [(10**7, "10ms"), (10**9, "1s"), (250_000, "250us"), (7, "7ns")])
def test_a_series_is_named_by_its_interval(ns: int, name: str) -> None:
    assert tap_intervals.interval_name(ns) == name
