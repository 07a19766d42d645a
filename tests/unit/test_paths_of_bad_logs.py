"""What is wrong with a packet log is one clear line or a counted reason, and never a wrong number."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_up_captures import MS, MSS, Download, write_pcap

from narrows.paths import tables
from narrows.paths.read import Outcome, Settings, core, outcome_of, read

ANY_LENGTH = Settings(min_duration_ns=0)
HEADER, RECORD = 24, 16
ETHERNET, IP = 14, 20
Packets = list[tuple[int, bytes]]


def whole(first: int = 0) -> Download:
    """Base RTT 40 ms; 120 bursts of two segments, each acknowledged after 40 ms. 3 + 360 packets.

    `first` is added to the sequence numbers.
    """
    download = Download(first=first)
    download.open(0, 40 * MS)
    for i in range(120):
        download.burst((1 + i) * 100 * MS, 2, 40 * MS)
    return download


def each(change: Callable[[int, bytes], bytes | None]) -> Callable[[Packets], Packets]:
    """Every packet changed, by its number; None leaves it out."""

    def changed(packets: Packets) -> Packets:
        made = [(t, change(n, data)) for n, (t, data) in enumerate(packets)]
        return [(t, data) for t, data in made if data is not None]

    return changed


def _no_ip_length(_: int, data: bytes) -> bytes:
    return data[: ETHERNET + 2] + b"\0\0" + data[ETHERNET + 4 :]


def _wrong_checksums(n: int, data: bytes) -> bytes:
    ip, tcp = ETHERNET + 10, ETHERNET + IP + 16
    return data[:ip] + struct.pack("!H", n) + data[ip + 2 : tcp] + b"\xde\xad" + data[tcp + 2 :]


def _no_syn(n: int, data: bytes) -> bytes | None:
    return None if n < 3 else data


def _from_server_only(_: int, data: bytes) -> bytes | None:
    return data if data[ETHERNET + 12 : ETHERNET + 16] == bytes([10, 0, 2, 1]) else None


def _twice(packets: Packets) -> Packets:
    return [packet for t, data in packets for packet in ((t, data), (t + 1000, data))]


def _one_goes_back(packets: Packets) -> Packets:
    # The 100th packet's clock stood a second early; the order of the log is that of the packets.
    return [(t - 1000 * MS if n == 100 else t, data) for n, (t, data) in enumerate(packets)]


def _port_again(packets: Packets) -> Packets:
    later = whole(first=77_000_000).packets
    return packets + [(t + 60_000 * MS, data) for t, data in later]


SAME: dict[str, Any] = {"base_rtt_ns": 40 * MS, "ack_aggregation": 2.0, "payload_bytes": 240 * MSS}
LOGS: dict[str, tuple[Callable[[Packets], Packets], list[dict[str, Any]]]] = {
    "as it should be": (lambda packets: packets, [SAME | {"notes": None, "retransmitted_segments": 0}]),
    "an IP length of 0": (each(_no_ip_length), [SAME]),
    "wrong checksums": (each(_wrong_checksums), [SAME | {"notes": None}]),
    "a missing SYN": (each(_no_syn), [SAME | {"notes": "no_syn", "initial_rwnd_bytes": None}]),
    "one side": (
        each(_from_server_only),
        [{"base_rtt_ns": None, "ack_aggregation": None, "peak_queueing_delay_ns": None, "rtt_samples": 0}],
    ),
    "packets twice": (_twice, [SAME | {"notes": "copies_dropped", "copies": 363, "data_segments": 240}]),
    "a time that goes back": (
        _one_goes_back,
        [{"payload_bytes": 240 * MSS, "base_rtt_ns": 40 * MS, "notes": "time_went_back"}],
    ),
    "a port that is used again": (_port_again, [SAME | {"notes": None}] * 2),
}


@pytest.mark.parametrize("name", LOGS)
def test_what_is_odd_in_a_log_changes_no_number_that_it_does_not_concern(name: str, tmp_path: Path) -> None:
    change, expected = LOGS[name]
    log = tmp_path / "log.pcap"
    write_pcap(log, change(whole().packets), in_order=name != "a time that goes back")
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert outcome.error is None
    rows = tables.load(tmp_path / "out", "connections").sort("connection").to_dicts()
    assert [{key: row[key] for key in want} for row, want in zip(rows, expected, strict=True)] == expected
    assert all(row["base_rtt_ns"] is None or row["base_rtt_ns"] >= 0 for row in rows)


@pytest.mark.parametrize("first", [2**32 - 1001, 2**32 - 100_000], ids=["in the handshake", "midway"])
def test_sequence_numbers_that_wrap_are_no_end(first: int, tmp_path: Path) -> None:
    log = tmp_path / "log.pcap"
    write_pcap(log, whole(first).packets)
    read([log], tmp_path / "out", ANY_LENGTH)
    (row,) = tables.load(tmp_path / "out", "connections").to_dicts()
    assert {key: row[key] for key in SAME} == SAME
    assert (row["retransmitted_segments"], row["reordered_before"], row["notes"]) == (0, 0, None)


def test_timestamps_that_wrap_make_no_reordering(tmp_path: Path) -> None:
    packets = Download(tsval=2**32 - 60)
    packets.open(0, 40 * MS)
    for i in range(120):
        packets.burst((1 + i) * 100 * MS, 2, 40 * MS)
    lost = packets.packets.pop(120)  # sent before the wrap, and seen again after it as a new one
    log = tmp_path / "log.pcap"
    write_pcap(log, packets.packets)
    read([log], tmp_path / "out", ANY_LENGTH)
    (row,) = tables.load(tmp_path / "out", "connections").to_dicts()
    assert lost
    assert (row["base_rtt_ns"], row["reordered_before"]) == (40 * MS, 0)


def _cut(at: int) -> Callable[[bytes], bytes]:
    return lambda log: log[:at]


def _long_caplen(log: bytes) -> bytes:
    """The first packet claims more captured bytes than it had on the wire."""
    caplen, _ = struct.unpack_from("<II", log, HEADER + 8)
    return log[: HEADER + 12] + struct.pack("<I", caplen - 10) + log[HEADER + 16 :]


def _huge_caplen(log: bytes) -> bytes:
    return log[: HEADER + 8] + struct.pack("<I", 2**31) + log[HEADER + 12 :]


@pytest.mark.parametrize(
    ("change", "damage", "odd"),
    [
        (_cut(HEADER + RECORD // 2), "it ends within the header of a packet", None),
        (_cut(HEADER + RECORD + 20), "it ends within a packet", None),
        (_huge_caplen, "a packet claims 2147483648 captured bytes", None),
        (_long_caplen, None, "captured length above the length on the wire"),
    ],
    ids=["cut in a header", "cut in a packet", "a huge packet", "caplen above len"],
)
def test_damage_is_named_with_its_byte_and_oddities_are_counted(
    change: Callable[[bytes], bytes], damage: str | None, odd: str | None, tmp_path: Path
) -> None:
    log = tmp_path / "log.pcap"
    write_pcap(log, whole().packets)
    log.write_bytes(change(log.read_bytes()))
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert outcome.error is None
    assert (outcome.damage is None) == (damage is None)
    if damage is not None:
        assert f"byte {HEADER}: {damage}; what came before is used" == outcome.damage
        assert tables.load(tmp_path / "out", "connections").height == 0
    assert list(outcome.counts["odd"]) == ([] if odd is None else [odd])


def _empty(at: Path) -> None:
    at.touch()


def _text(at: Path) -> None:
    at.write_text("1 0.000000 10.0.0.1 10.0.2.1 TCP 74\n")


def _cut_header(at: Path) -> None:
    at.write_bytes(bytes.fromhex("d4c3b2a1") + bytes(8))


def _cut_gzip(at: Path) -> None:
    at.write_bytes(bytes.fromhex("1f8b0800000000000003"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_empty, "the file is empty"),
        (_text, "this is neither pcap nor pcapng"),
        (Path.mkdir, "this is a directory"),
        (_cut_header, "its header ends too early"),
        (_cut_gzip, "cannot be read"),
        (lambda _: None, "there is no such file"),
    ],
    ids=["empty", "text", "directory", "cut header", "cut gzip", "none"],
)
def test_what_is_no_log_is_one_line_with_the_file_and_a_remedy_and_leaves_no_table(
    make: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.pcap"
    make(log)
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert outcome.error is not None
    assert message in outcome.error.message
    assert "\n" not in outcome.error.message
    assert str(log) in str(outcome.error.where)
    assert outcome.error.remedy
    assert not [file for file in (tmp_path / "out").rglob("*") if file.is_file()]


def test_a_log_without_permission_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log.pcap"
    write_pcap(log, whole().packets)
    log.chmod(0)
    if os.access(log, os.R_OK):
        pytest.skip("root reads everything")
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert outcome.error is not None
    assert outcome.error.message == "there is no permission to read it"


def _through_a_pipe(log: bytes, out: Path) -> Outcome:
    done = subprocess.run(
        [*core(), "read", "-", "--out", str(out), *ANY_LENGTH.arguments()],
        input=log,
        capture_output=True,
        check=False,
    )
    return outcome_of(done.stdout.decode())


def test_a_pipe_that_ends_early_is_used_up_to_there_and_an_empty_one_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log.pcap"
    write_pcap(log, whole().packets)
    outcome = _through_a_pipe(log.read_bytes()[:-30], tmp_path / "out")
    assert outcome.damage is not None
    assert "it ends within a packet" in outcome.damage
    (row,) = tables.load(tmp_path / "out", "connections").to_dicts()
    assert (row["log"], row["base_rtt_ns"]) == ("-", 40 * MS)
    empty = _through_a_pipe(b"", tmp_path / "out")
    assert empty.error is not None
    assert empty.error.message == "the file is empty"
