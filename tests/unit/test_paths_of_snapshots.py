"""M-Lab's JSON as input of `narrows paths`: snapshots whose truth is in the test."""

from __future__ import annotations

import base64
import gzip
import json
import lzma
import socket
import struct
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.paths import tables
from narrows.paths.read import read

NO_RTT = 0xFFFFFFFF
START = "2026-03-01T12:00:00.250000001+02:00"
START_NS = 1_772_359_200_250_000_001


def measurement(n: int) -> dict[str, Any]:
    """After n quarters of a second at 8 Mbit/s: base RTT 20 ms, a queue that grows by 1 ms each."""
    return {
        "TCPInfo": {
            "ElapsedTime": n * 250_000,
            "RTT": 20_000 + n * 1000,
            "MinRTT": NO_RTT if n == 0 else 20_000,
            "BytesAcked": n * 250_000,
            "BytesReceived": 500,
            "BytesSent": n * 255_000,
            "BytesRetrans": n * 5_100,
            "BusyTime": n * 200_000,
            "RWndLimited": n * 50_000,
            "SndBufLimited": 0,
            "SndMSS": 1448,
            "ReordSeen": 3,
        },
        "BBRInfo": {"BW": 900_000 + n},
    }


def result(count: int = 21) -> dict[str, Any]:
    return {
        "GitShortCommit": "abc", "Version": "v0", "ServerIP": "2001:db8::1", "ServerPort": 443,
        "ClientIP": "192.0.2.7", "ClientPort": 50_001, "StartTime": START, "EndTime": START,
        "Download": {
            "UUID": "host_1_unsafe_2", "StartTime": START, "EndTime": START,
            "ServerMeasurements": [*(measurement(n) for n in range(count)), {"AppInfo": {"NumBytes": 1}}],
            "ClientMeasurements": [], "ClientMetadata": [],
        },
    }  # fmt: skip


def test_an_ndt7_result_gives_what_snapshots_can_tell(tmp_path: Path) -> None:
    for name, pack in (("a.json", bytes), ("a.json.gz", gzip.compress), ("a.json.xz", lzma.compress)):
        (tmp_path / name).write_bytes(pack(json.dumps(result(), indent=2).encode()))
    outcomes = read([tmp_path / "a.json", tmp_path / "a.json.gz", tmp_path / "a.json.xz"], tmp_path / "out")
    assert [outcome.error for outcome in outcomes] == [None] * 3
    assert outcomes[0].unused == {"measurement without TCPInfo": 1}
    frame = tables.load(tmp_path / "out", "snapshots")
    assert frame.drop("log").unique().height == 1
    row = frame.to_dicts()[0]
    assert (row["source"], row["client"], row["server"]) == ("ndt7 download", "192.0.2.7", "2001:db8::1")
    assert (row["uuid"], row["start_ns"], row["snapshots"]) == ("host_1_unsafe_2", START_NS, 21)
    assert (row["sender"], row["cca"], row["mss_bytes"], row["reordering_events"]) == (
        "server",
        "bbr",
        1448,
        3,
    )
    assert row["base_rtt_ns"] == 20_000_000, "not what stands before the first sample"
    assert row["smoothed_queueing_delay_ns"] == 20_000_000
    assert row["throughput_bps"] == pytest.approx(8e6)
    assert row["busy_throughput_bps"] == pytest.approx(10e6)
    assert row["rwnd_limited_share"] == pytest.approx(0.25)
    assert row["retransmitted_share"] == pytest.approx(0.02)
    assert row["bbr_bandwidth_bps"] == pytest.approx(8 * 900_020)
    assert not (tmp_path / "out" / "connections").exists()


def test_few_snapshots_have_no_queueing_delay_and_an_upload_no_sender_s_properties(tmp_path: Path) -> None:
    few = result(4)
    few["Upload"] = json.loads(json.dumps(few["Download"]))
    for each in few["Upload"]["ServerMeasurements"][:4]:
        info = each["TCPInfo"]
        info["BytesAcked"], info["BytesReceived"] = 500, info["BytesAcked"]
    (tmp_path / "a.json").write_text(json.dumps(few))
    read([tmp_path / "a.json"], tmp_path / "out")
    down, up = tables.load(tmp_path / "out", "snapshots").sort("source").to_dicts()
    assert down["smoothed_queueing_delay_ns"] is None
    assert (up["sender"], up["throughput_bps"]) == ("client", pytest.approx(8e6))
    unknown = (
        "smoothed_queueing_delay_ns",
        "busy_throughput_bps",
        "retransmitted_share",
        "bbr_bandwidth_bps",
    )
    assert [up[name] for name in unknown] == [None] * 4


def record(n: int, port: int = 50_001, length: int = 232) -> str:
    """A line of tcp-info: the kernel's structures, little endian, as base64."""
    info = bytearray(232)
    for at, value in ((16, 1448), (68, 20_000 + n * 1000), (148, 20_000), (220, 1)):
        struct.pack_into("<I", info, at, value)
    for at, value in (
        (120, n * 250_000),
        (128, 500),
        (168, n * 200_000),
        (200, n * 255_000),
        (208, n * 5_100),
    ):
        struct.pack_into("<Q", info, at, value)
    ends = socket.inet_aton("198.51.100.1") + bytes(12) + socket.inet_aton("192.0.2.7") + bytes(12)
    message = bytes([2, 1, 0, 0]) + struct.pack("!HH", 443, port) + ends + bytes(32)
    attributes: list[str | None] = [None] * 5
    attributes[2] = base64.b64encode(info[:length]).decode()
    attributes[4] = base64.b64encode(b"cubic\0").decode()
    milliseconds = n * 250
    return json.dumps(
        {
            "Timestamp": f"2026-03-01T10:00:{milliseconds // 1000:02}.{milliseconds % 1000:03}Z",
            "RawIDM": base64.b64encode(message).decode(),
            "Attributes": attributes,
        }
    )


def test_records_of_tcp_info_give_the_same_of_each_connection(tmp_path: Path) -> None:
    metadata = json.dumps({"Metadata": {"UUID": "u", "Sequence": 0, "StartTime": "2026-03-01T10:00:00Z"}})
    lines = [metadata, *(record(n) for n in range(21)), record(0, port=9), record(1, length=60)]
    lines.append('{"Timestamp": "2026-03-01T10:00:00Z", "RawIDM": "AAAA"}')
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    (outcome,) = read([tmp_path / "a.jsonl"], tmp_path / "out")
    assert outcome.unused == {"record without TCP_INFO": 1, "message that is too short, or no base64": 1}
    other, row = tables.load(tmp_path / "out", "snapshots").sort("client_port").to_dicts()
    assert (row["source"], row["uuid"], row["cca"], row["server_port"]) == ("tcp-info", "u", "cubic", 443)
    assert (row["client"], row["server"]) == ("192.0.2.7", "198.51.100.1")
    assert (row["start_ns"], row["duration_ns"]) == (1_772_359_200_000_000_000, 5_000_000_000)
    assert (row["base_rtt_ns"], row["smoothed_queueing_delay_ns"]) == (20_000_000, 20_000_000)
    assert row["throughput_bps"] == pytest.approx(8e6)
    assert row["busy_throughput_bps"] == pytest.approx(10e6)
    assert row["retransmitted_share"] == pytest.approx(0.02)
    assert (other["client_port"], other["snapshots"], other["throughput_bps"]) == (9, 1, None)


def test_json_of_others_and_what_is_cut_is_said(tmp_path: Path) -> None:
    other, broken, cut = (tmp_path / name for name in ("other.json", "broken.json", "cut.jsonl"))
    other.write_text('{"upload": 3}')
    broken.write_text('{"ServerIP": ')
    cut.write_text(record(0) + "\n" + record(1)[:50])
    a, b, c = read([other, broken, cut], tmp_path / "out")
    assert a.error is not None
    assert a.error.message == "this JSON is neither a result of ndt-server nor a record of tcp-info"
    assert b.error is not None
    assert b.error.message.startswith("this is no JSON: EOF while parsing")
    assert c.damage is not None
    assert c.damage.startswith("value 2: EOF while parsing")
    assert tables.load(tmp_path / "out", "snapshots")["snapshots"].to_list() == [1]


def test_the_command_prints_snapshots_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(result()))
    words = ["paths", str(tmp_path / "a.json"), "--out", str(tmp_path / "out"), "--format", "json"]
    done = CliRunner().invoke(build_app(), words)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["source"], row["base_rtt_ms"], row["throughput_mbit_s"]) == ("ndt7 download", 20.0, 8.0)
    assert "ndt7, 1 connection, 21 snapshots of TCP_INFO" in done.stderr
