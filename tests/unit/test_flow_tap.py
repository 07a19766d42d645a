"""The flow tap's file and its tables, on made-up bytes laid out as docs/formats.md says."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

import pytest
from store_fakes import EPOCH_NS, make_plan

from narrows.errors import StoreError
from narrows.plan.model import FlowTap, FlowWatch, FlowWindow, Plan
from narrows.store import flow_tap, flow_tap_tables
from narrows.store.items import Span

S = 1_000_000_000
RECOVERY, TIMEOUT, CWR, TLP, UNDO, LATE_UNDO = range(1, 7)
NEVER = 0x7FFFFFFF


def head(kind_of_record: int, flow: int, kind: int = 0, came_from: int = 0, flags: int = 0) -> bytes:
    return struct.pack("<BBBBI", kind_of_record, kind, came_from, flags, flow)


def flow(number: int, sport: int, *, flags: int = 4, cca: str = "reno") -> bytes:
    ends = (socket.inet_aton("10.0.2.1"), socket.inet_aton("10.0.0.1"))
    return head(1, number, 0, 4, flags) + struct.pack("<HH4s4s12s", sport, 5201, *ends, cca.encode())


def event(
    t_ns: int, number: int, kind: int, came_from: int = 0, *, reduction: bool = True, cwnd: tuple[int, int]
) -> bytes:
    return head(2, number, kind, came_from, int(reduction)) + struct.pack(
        "<QIIII", EPOCH_NS + t_ns, *cwnd, 9, 2
    )


def sample(t_ns: int, number: int, acked: int, srtt_us: int) -> bytes:
    return head(3, number) + struct.pack("<QQII", EPOCH_NS + t_ns, acked, srtt_us, 10)


def snapshot(
    t_ns: int, number: int, why: int, mark: int = 0, *, acked: int = 0, delivered: int = 0, retrans: int = 0,
    counts: tuple[int, ...] = (0, 0, 0, 0, 0, 0), min_rtt_us: int = 20_000, ssthresh: int = NEVER,
    data_segments: int = 40,
) -> bytes:  # fmt: skip
    parts = (
        struct.pack("<QQQ", EPOCH_NS + t_ns, acked, acked + 100),
        struct.pack("<QIIII", retrans * 1448, delivered, 0, retrans, retrans),
        struct.pack("<IIIIII", 50, data_segments, 25_000, min_rtt_us, 12, ssthresh),
        struct.pack("<IIIIII", *counts),
        struct.pack("<IIIIQ", 1448, 0, 0, 3, 0),
    )
    return b"".join(head(4 + i, number, why, mark) + part for i, part in enumerate(parts))


ESTABLISHED, MARK, CLOSED, FLUSH = 0, 1, 2, 3

RECORDS = [
    flow(1, 40001),
    snapshot(0, 1, ESTABLISHED),
    event(1 * S, 1, RECOVERY, 1, cwnd=(20, 10)),
    sample(1 * S, 1, 500, 90_000),
    snapshot(2 * S, 1, MARK, 1, acked=1000, delivered=0xFFFFFFF0, retrans=3, counts=(1, 0, 0, 0, 1, 0)),
    flow(2, 40002, flags=1 | 4),
    snapshot(3 * S, 2, ESTABLISHED, acked=1),
    sample(3 * S, 1, 1500, 20_000),
    event(3 * S, 1, TIMEOUT, 4, reduction=False, cwnd=(0, 1)),
    event(4 * S, 2, CWR, 0, cwnd=(30, 15)),
    sample(4 * S, 1, 2500, 30_000),
    snapshot(5 * S, 1, MARK, 2, acked=3000, delivered=0x10, retrans=10, counts=(1, 1, 0, 0, 1, 0),
             ssthresh=10),
    snapshot(5 * S, 2, MARK, 2, acked=501, counts=(0, 0, 1, 0, 1, 0), min_rtt_us=0xFFFFFFFF),
    sample(6 * S, 1, 9999, 99_000),
    snapshot(6 * S, 1, CLOSED, acked=9999, counts=(1, 1, 0, 0, 1, 0)),
    snapshot(7 * S, 2, FLUSH, acked=502, counts=(0, 0, 1, 0, 1, 0)),
]  # fmt: skip
TOTALS = {"open": 1, "watched": 2, "events": 3}
WINDOW = FlowWindow(start_ns=2 * S, stop_ns=None)


def plan(window: FlowWindow | None = WINDOW) -> Plan:
    tap = FlowTap(watch=(FlowWatch(node="server", port=5201),), window=window, sample_interval_ns=S)
    return make_plan(flow_tap=tap.model_dump(mode="json"))


def read(tmp_path: Path, records: list[bytes]) -> flow_tap.FlowTap:
    path = tmp_path / "flow_tap.bin"
    path.write_bytes(b"".join(records))
    return flow_tap.read(path)


def tables(
    tmp_path: Path, records: list[bytes] = RECORDS, window: FlowWindow | None = WINDOW
) -> flow_tap_tables.FlowTapTables:
    spans = {"cross": Span(0, 5 * S)}
    return flow_tap_tables.derive("run", plan(window), read(tmp_path, records), TOTALS, EPOCH_NS, spans)


def test_counters_are_those_between_the_marks_and_wrapped_ones_count_on(tmp_path: Path) -> None:
    one = tables(tmp_path).flows.row(0, named=True)
    assert (one["start_ns"], one["stop_ns"], one["born_ns"], one["died_ns"]) == (2 * S, 5 * S, 0, 6 * S)
    assert one["bytes_acked"] == 2000
    assert one["delivered_packets"] == 0x20  # 0xFFFFFFF0 to 0x10 over the end of 32 bits
    assert one["retransmitted_packets"] == one["lost_packets"] == 7
    assert (one["recoveries"], one["timeouts"], one["reductions"]) == (0, 1, 0)
    assert (one["label"], one["item"]) == ("tcp 10.0.2.1:40001>10.0.0.1:5201", "cross")
    assert (one["cca"], one["ecn"], one["direction"]) == ("reno", False, "down")
    assert one["ssthresh_packets"] == 10


def test_the_mean_rtt_is_that_of_the_samples_in_the_window(tmp_path: Path) -> None:
    flows = tables(tmp_path).flows
    assert flows["srtt_mean_us"].to_list() == [25_000.0, None]  # (20000 + 30000) / 2


def test_a_flow_born_in_the_window_counts_from_its_birth_and_what_it_does_not_know_is_null(
    tmp_path: Path,
) -> None:
    two = tables(tmp_path).flows.row(1, named=True)
    assert (two["start_ns"], two["stop_ns"], two["died_ns"]) == (3 * S, 5 * S, None)
    assert (two["bytes_acked"], two["cwrs"], two["ecn"]) == (500, 1, True)
    assert two["min_rtt_us"] is None
    assert two["ssthresh_packets"] is None


def test_without_a_window_counters_are_of_the_whole_life(tmp_path: Path) -> None:
    records = [r for r in RECORDS if r[:2] != bytes([4, MARK])]
    one = tables(tmp_path, records, None).flows.row(0, named=True)
    assert (one["start_ns"], one["stop_ns"], one["bytes_acked"]) == (0, 6 * S, 9999)


def test_a_flow_that_died_in_the_warm_up_has_no_row(tmp_path: Path) -> None:
    window = FlowWindow(start_ns=20 * S, stop_ns=None)
    records = [r for r in RECORDS if r[:2] != bytes([4, MARK])]
    assert tables(tmp_path, records, window).flows.height == 0


def test_events_keep_their_kind_state_and_windows(tmp_path: Path) -> None:
    events = tables(tmp_path).events
    assert events["kind"].to_list() == ["recovery", "timeout", "cwr"]
    assert events["from_state"].to_list() == ["disorder", "loss", "open"]
    assert events["reduction"].to_list() == [True, False, True]
    assert events["cwnd_before"].to_list() == [20, None, 30]
    assert events["t_ns"].to_list() == [1 * S, 3 * S, 4 * S]


def test_samples_of_all_flows_keep_their_times(tmp_path: Path) -> None:
    samples = tables(tmp_path).samples
    assert samples["t_ns"].to_list() == [1 * S, 3 * S, 4 * S, 6 * S]
    assert samples["bytes_acked"].to_list() == [500, 1500, 2500, 9999]


def test_a_socket_that_only_received_is_not_a_sender(tmp_path: Path) -> None:
    receiver = [
        flow(3, 40003),
        snapshot(0, 3, ESTABLISHED, data_segments=0),
        sample(1 * S, 3, 1, 20_000),
        snapshot(7 * S, 3, FLUSH, data_segments=0),
    ]
    data = flow_tap_tables.senders(read(tmp_path, [*RECORDS, *receiver]))
    assert [one.flow for one in data.flows] == [1, 2]
    assert set(data.samples["flow"].tolist()) == {1}
    assert set(data.snapshots["flow"].tolist()) == {1, 2}


def test_a_lost_event_is_found(tmp_path: Path) -> None:
    records = [r for r in RECORDS if r[:2] != bytes([2, CWR])]
    with pytest.raises(StoreError, match="events 2 ≠ 3"):
        tables(tmp_path, records)


def test_an_event_of_another_flow_than_counted_it_is_found(tmp_path: Path) -> None:
    records = [event(4 * S, 1, CWR, cwnd=(30, 15)) if r[:2] == bytes([2, CWR]) else r for r in RECORDS]
    with pytest.raises(StoreError, match="cwrs of flow 1: 1 events ≠ 0"):
        tables(tmp_path, records)


def test_a_file_that_is_cut_off_or_unknown_is_an_error_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cut off: 33 bytes"):
        read(tmp_path, [bytes(33)])
    with pytest.raises(StoreError, match="type 9 at byte 32"):
        read(tmp_path, [flow(1, 1), head(9, 1) + bytes(24)])
    with pytest.raises(StoreError, match="whole snapshots"):
        read(tmp_path, [snapshot(0, 1, 0)[:96]])
