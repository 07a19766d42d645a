"""A QUIC download from one of our runs, with its secrets in the capture, against what the run's tap counted.

`captured/quic_download.pcapng.xz`: 40 KB by quinn at 5 Mbit/s, base RTT 40 ms, `pfifo(limit=5)`, captured at
the server. The tap saw 46 datagrams come to the queue and 4 of them dropped.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.errors import UsageError
from narrows.paths import tables
from narrows.paths.read import Settings, read

LOG = Path(__file__).parent / "captured/quic_download.pcapng.xz"
MS = 1_000_000


def row(out: Path, log: Path = LOG, **settings: object) -> dict[str, object]:
    (outcome,) = read([log], out, Settings(**settings))  # type: ignore[arg-type]
    assert outcome.error is None
    return tables.load(out, "udp").row(0, named=True)


def test_secrets_in_the_capture_open_what_was_sent(tmp_path: Path) -> None:
    said = row(tmp_path, qlog=True)
    for name, right in {
        "protocol": "quic",
        "quic_version": "1",
        "server_name": "server",
        "alpn": "h3",
        "sender": "server",
        "datagrams": 46,
        "lost_packets": 4,
        "unseen_packets": 0,
        "closed_packets": 0,
        "unknown_frames": 0,
        "late_packets": 0,
        "spin_rtts": 0,
    }.items():
        assert said[name] == right, name
    for name in ("handshake_rtt_ns", "rtt_min_ns"):
        assert said[name] == pytest.approx(40 * MS, rel=0.001), name
    # Four packets of at most 1252 bytes were sent again.
    assert 3 * 1100 < said["resent_bytes"] <= 4 * 1252  # type: ignore[operator]
    (qlog,) = (tmp_path / "qlog").glob("*.sqlog")
    records = [json.loads(line) for line in qlog.read_text().split("\x1e")[1:]]
    assert len(records) == 1 + said["opened_packets"]  # type: ignore[operator]
    assert {r["name"] for r in records[1:]} == {"quic:packet_sent", "quic:packet_received"}


def test_without_secrets_nothing_is_said_of_loss_and_the_handshake_is(tmp_path: Path) -> None:
    data = lzma.decompress(LOG.read_bytes())
    begin = int.from_bytes(data[4:8], "little")
    length = int.from_bytes(data[begin + 4 : begin + 8], "little")
    log = tmp_path / "closed.pcapng"
    log.write_bytes(data[:begin] + data[begin + length :])
    said = row(tmp_path / "out", log)
    assert [said[name] for name in ("opened_packets", "lost_packets", "rtt_min_ns")] == [None] * 3
    assert said["handshake_rtt_ns"] == pytest.approx(40 * MS, rel=0.001)
    keys = tmp_path / "keys.txt"
    secrets = data[begin + 16 : begin + 16 + int.from_bytes(data[begin + 12 : begin + 16], "little")]
    keys.write_bytes(secrets)
    assert row(tmp_path / "out", log, keys=keys)["lost_packets"] == 4


def test_a_file_without_secrets_is_refused(tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    with pytest.raises(UsageError, match="cannot be read"):
        Settings(keys=keys)
    keys.write_text("CLIENT_RANDOM 00 00\n")
    with pytest.raises(UsageError, match=r"no secret of TLS 1\.3"):
        Settings(keys=keys)


def test_the_command_shows_conversations(tmp_path: Path) -> None:
    said = lab.narrows("paths", LOG, "--out", tmp_path / "out", "--page", cwd=tmp_path).ok()
    sentence = "4 packets lost behind the capture, 0 never seen; from here to the receiver and back 41.8"
    assert sentence in said.err
    page = (tmp_path / "out/report.html").read_text()
    assert "<h1>What UDP shows</h1>" in page
    assert sentence in page
    assert "server" in said.out
    assert "1 conversation of UDP" in said.err
    seconds = tables.load(tmp_path / "out", "udp_seconds")
    assert seconds.filter(pl.col("sender") == "server")["datagrams"].sum() == 46


def test_secrets_that_open_nothing_are_said(tmp_path: Path) -> None:
    data = lzma.decompress(LOG.read_bytes())
    begin = int.from_bytes(data[4:8], "little")
    length = int.from_bytes(data[begin + 4 : begin + 8], "little")
    log, keys = tmp_path / "closed.pcapng", tmp_path / "keys.txt"
    log.write_bytes(data[:begin] + data[begin + length :])
    keys.write_text(f"CLIENT_TRAFFIC_SECRET_0 {'0' * 64} {'0' * 64}\n")
    said = lab.narrows("paths", log, "--keys", keys, "--qlog", "--out", tmp_path / "out", cwd=tmp_path).ok()
    assert "no secret opened any of 1 QUIC connection" in said.err
    assert not list((tmp_path / "out/qlog").iterdir())
