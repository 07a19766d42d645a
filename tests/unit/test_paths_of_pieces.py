"""`narrows paths` of captures in pieces, of packets out of order, and of files by names of all kinds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from made_up_captures import MS, MSS, Download, write_pcap

from narrows.paths import binary, tables
from narrows.paths.read import Settings, read

ANY_LENGTH = Settings(min_duration_ns=0)
JOINED = Settings(min_duration_ns=0, joined=True)
BURSTS = 60
SKIPPABLE = b"\x50\x2a\x4d\x18\4\0\0\0abcd"


def _packets() -> list[tuple[int, bytes]]:
    download = Download()
    download.open(0, 40 * MS)
    for i in range(BURSTS):
        download.burst((1 + i) * 60 * MS, 3, 40 * MS)
    return sorted(download.packets, key=lambda packet: packet[0])


def _row(out: Path) -> dict[str, Any]:
    """The one connection of a directory, without the log's name."""
    (row,) = tables.load(out, "connections").drop("log").to_dicts()
    return row


def _whole(folder: Path) -> dict[str, Any]:
    write_pcap(folder / "whole", _packets())
    read([folder / "whole"], folder / "of_whole", ANY_LENGTH)
    row = _row(folder / "of_whole")
    assert (row["payload_bytes"], row["notes"]) == (BURSTS * 3 * MSS, None)
    return row


def _rotated(folder: Path, names: list[str]) -> list[Path]:
    """The packets in as many files, one after the other."""
    packets = _packets()
    size = len(packets) // len(names) + 1
    files = [folder / name for name in names]
    for i, file in enumerate(files):
        write_pcap(file, packets[i * size : (i + 1) * size])
    return files


@pytest.mark.parametrize(
    "names",
    [
        ["d_00001_20261128120000.pcap", "d_00002_20261128120001.pcap", "d_00003_20261128120002.pcap"],
        ["c.pcap", "c.pcap1", "c.pcap2"],
        ["w.pcap00", "w.pcap01"],
    ],
)
def test_rotated_files_are_one_capture_by_their_names(tmp_path: Path, names: list[str]) -> None:
    files = _rotated(tmp_path, names)
    (outcome,) = read([*files[::-1]], tmp_path / "out", ANY_LENGTH)
    assert outcome.summary is not None
    assert outcome.summary["container"]["files"] == len(names)
    assert outcome.files == tuple(range(len(names)))
    assert _row(tmp_path / "out") == _whole(tmp_path)
    (again,) = read([*files[::-1]], tmp_path / "out", ANY_LENGTH)
    assert again.skipped


def test_files_of_other_names_are_apart_unless_they_are_joined(tmp_path: Path) -> None:
    files = _rotated(tmp_path, ["12.pcap", "13.pcap"])
    assert len(read(files, tmp_path / "apart", ANY_LENGTH)) == 2
    assert tables.load(tmp_path / "apart", "connections").height == 2
    (tmp_path / "14.pcap").touch()  # the last one of a capture, without a packet yet
    (outcome,) = read([*files, tmp_path / "14.pcap"], tmp_path / "out", JOINED)
    assert outcome.error is None
    assert _row(tmp_path / "out") == _whole(tmp_path)


def test_interfaces_with_a_file_each_are_merged_by_time(tmp_path: Path) -> None:
    packets = _packets()
    server = [packet for packet in packets if packet[1][26:30] == bytes([10, 0, 2, 1])]
    # The handshake begins at one time at both: the first file goes first.
    write_pcap(tmp_path / "eth1", server)
    write_pcap(tmp_path / "eth0", [packet for packet in packets if packet not in server])
    read([tmp_path / "eth0", tmp_path / "eth1"], tmp_path / "out", JOINED)
    assert _row(tmp_path / "out") == _whole(tmp_path)


def test_a_piece_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    files = _rotated(tmp_path, ["a", "b"])
    (outcome,) = read([*files, tmp_path / "c"], tmp_path / "out", JOINED)
    assert outcome.error is not None
    assert outcome.error.where == str(tmp_path / "c")
    files[0].write_bytes(files[0].read_bytes()[:-20])
    (outcome,) = read(files, tmp_path / "out", JOINED)
    assert outcome.damage is not None
    assert outcome.damage.startswith(f"{files[0]}: byte ")


def test_packets_a_few_milliseconds_out_of_order_are_sorted_and_counted(tmp_path: Path) -> None:
    packets = _packets()
    moved = [(t + (1 if i % 2 else 0) * MS, frame) for i, (t, frame) in enumerate(packets)]
    write_pcap(tmp_path / "sorted", moved)
    shuffled = sorted(enumerate(moved), key=lambda each: each[1][0] + (each[0] * 7 % 5) * 2 * MS)
    write_pcap(tmp_path / "shuffled", [packet for _, packet in shuffled], in_order=False)
    (right,) = read([tmp_path / "sorted"], tmp_path / "right", ANY_LENGTH)
    (outcome,) = read([tmp_path / "shuffled"], tmp_path / "out", ANY_LENGTH)
    assert outcome.summary is not None
    assert right.summary is not None
    assert outcome.summary["sorted"] > 10
    assert (outcome.summary["time_went_back"], right.summary["sorted"]) == (0, 0)
    assert outcome.counts == right.counts, "it was read twice and counted once"
    assert _row(tmp_path / "out") == _row(tmp_path / "right")
    # From a pipe, which cannot be read twice.
    (outcome,) = _piped(tmp_path / "shuffled", tmp_path / "piped")
    assert outcome["done"]["sorted"] > 10
    assert _row(tmp_path / "piped") == _row(tmp_path / "right")


def _piped(log: Path, out: Path) -> list[dict[str, Any]]:
    command = [str(binary.find()), "read", "-", "--out", str(out), "--min-duration-ns", "0"]
    with log.open("rb") as stdin:
        done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_what_a_shell_names_by_a_descriptor_is_read(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", _packets())
    script = f"{sys.executable} -m narrows.cli.main paths <(cat a.pcap) --out out --min-duration '0 s'"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert _row(tmp_path / "out") == _whole(tmp_path)


def test_a_name_of_any_bytes_is_read(tmp_path: Path) -> None:
    log = tmp_path / os.fsdecode(b"caf\xe9.pcap")
    write_pcap(log, _packets())
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert outcome.error is None
    assert _row(tmp_path / "out") == _whole(tmp_path)
    (missing,) = read([tmp_path / os.fsdecode(b"\xff")], tmp_path / "out", ANY_LENGTH)
    assert missing.error is not None
    assert missing.error.message == "there is no such file"


def test_a_skippable_frame_before_a_zstd_stream_is_passed_over(tmp_path: Path) -> None:
    write_pcap(tmp_path / "a.pcap", _packets())
    frame = tmp_path / "frame.zst"
    # A frame of one raw block (RFC 8878): magic, 8 bytes of content size, the last block's size and type.
    raw = (tmp_path / "a.pcap").read_bytes()
    blocks = [raw[i : i + 100_000] for i in range(0, len(raw), 100_000)]
    body = b"".join(
        (len(block) << 3 | (block is blocks[-1])).to_bytes(3, "little") + block for block in blocks
    )
    frame.write_bytes(SKIPPABLE + b"\x28\xb5\x2f\xfd\xe0" + len(raw).to_bytes(8, "little") + body)
    (outcome,) = read([frame], tmp_path / "out", ANY_LENGTH)
    assert outcome.error is None, outcome.error
    assert outcome.summary is not None
    assert outcome.summary["compression"] == "zstd"
    assert _row(tmp_path / "out") == _whole(tmp_path)


def test_one_file_behind_another_is_both(tmp_path: Path) -> None:
    files = _rotated(tmp_path, ["a", "b"])
    (tmp_path / "ab").write_bytes(b"".join(file.read_bytes() for file in files))
    (outcome,) = read([tmp_path / "ab"], tmp_path / "out", ANY_LENGTH)
    assert outcome.summary is not None
    assert outcome.summary["container"]["files"] == 2
    assert _row(tmp_path / "out") == _whole(tmp_path)
