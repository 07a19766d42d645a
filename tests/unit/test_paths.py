"""`narrows paths`: the core on logs whose truth is known, and what is judged from many sessions."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from made_up_captures import MS, MSS, Download, write_pcap
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.errors import EngineError, UsageError
from narrows.paths import binary, busy_hours, groups, metadata, proxies, tables
from narrows.paths.live import read_live
from narrows.paths.read import Settings, read

ANY_LENGTH = Settings(min_duration_ns=0)
DOCS = Path(__file__).resolve().parents[2] / "docs" / "paths-columns.md"


def _download() -> Download:
    """Base RTT 40 ms; 200 bursts of three segments whose RTTs are 40, 40.5, 41, … 139.5 ms."""
    download = Download()
    download.open(0, 40 * MS)
    for i in range(200):
        download.burst((1 + i) * 300 * MS, 3, 40 * MS + i * MS // 2)
    return download


def test_base_rtt_queueing_delay_and_ack_aggregation_are_what_the_log_was_made_with(tmp_path: Path) -> None:
    log = tmp_path / "download.pcap"
    write_pcap(log, _download().packets)
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert outcome.error is None
    assert outcome.damage is None
    assert outcome.unused == {}
    (row,) = tables.load(tmp_path / "out", "connections").to_dicts()
    assert (row["client"], row["server"], row["sender"]) == ("10.0.0.1", "10.0.2.1", "server")
    assert row["base_rtt_ns"] == 40 * MS
    # 201 samples, the handshake's among them; the 199th of them is 138.5 ms.
    assert row["peak_queueing_delay_ns"] == 98 * MS + MS // 2
    assert row["peak_queueing_ratio"] == pytest.approx(98.5 / 40)
    assert row["ack_aggregation"] == 3
    assert row["initial_rwnd_bytes"] == 512 << 7
    assert row["payload_bytes"] == 600 * MSS
    (session,) = tables.load(tmp_path / "out", "sessions").to_dicts()
    shared = set(session) & set(row) - {"start_ns", "duration_ns"}
    assert {name: session[name] for name in shared} == {name: row[name] for name in shared}


def test_a_compressed_log_reads_as_the_plain_one(tmp_path: Path) -> None:
    log = tmp_path / "a.pcap"
    write_pcap(log, _download().packets)
    for name, pack in (("a.pcap.gz", gzip.compress), ("a.pcap.xz", lzma.compress)):
        (tmp_path / name).write_bytes(pack(log.read_bytes()))
    outcomes = read(
        [log, tmp_path / "a.pcap.gz", tmp_path / "a.pcap.xz"], tmp_path / "out", ANY_LENGTH, jobs=2
    )
    kinds = [outcome.summary["compression"] for outcome in outcomes if outcome.summary]
    assert kinds == ["none", "gzip", "xz"]
    rows = tables.load(tmp_path / "out", "connections").drop("log")
    assert rows.height == 3
    assert rows.unique().height == 1


def test_acks_are_written_on_request_and_each_has_its_sample(tmp_path: Path) -> None:
    log = tmp_path / "a.pcap"
    write_pcap(log, _download().packets)
    read([log], tmp_path / "out", Settings(min_duration_ns=0, acks=True))
    acks = tables.load(tmp_path / "out", "acks").filter(sender="server", has_sack=0)
    data = acks.filter(pl.col("acked_bytes") > 0)
    assert data["acked_bytes"].to_list() == [3 * MSS] * 200
    assert data["rtt_ns"].to_list() == [40 * MS + i * MS // 2 for i in range(200)]


def test_a_log_is_read_once_and_one_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    good, text, empty = (tmp_path / name for name in ("good.pcap", "text.pcap", "empty.pcap"))
    write_pcap(good, _download().packets)
    text.write_text("not a packet in here\n")
    empty.touch()
    logs = [text, good, empty, tmp_path, tmp_path / "missing.pcap"]
    outcomes = read(logs, tmp_path / "out", ANY_LENGTH)
    told = [outcome.error.message if outcome.error else None for outcome in outcomes]
    assert told == [
        "this is neither pcap nor pcapng",
        None,
        "the file is empty",
        "this is a directory",
        "there is no such file",
    ]
    assert all(outcome.error.remedy for outcome in outcomes if outcome.error)
    assert [outcome.skipped for outcome in read(logs, tmp_path / "out", ANY_LENGTH)] == [False, True] + [
        False
    ] * 3
    assert not read([good], tmp_path / "out", Settings(min_duration_ns=1))[0].skipped, "other settings"


def test_another_version_of_a_log_replaces_its_rows(tmp_path: Path) -> None:
    log = tmp_path / "a.pcap"
    write_pcap(log, _download().packets)
    read([log], tmp_path / "out", Settings(min_duration_ns=0, acks=True))
    shorter = Download()
    shorter.open(0, 20 * MS)
    shorter.burst(100 * MS, 3, 20 * MS)
    write_pcap(log, shorter.packets)
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert not outcome.skipped
    assert tables.load(tmp_path / "out", "connections")["base_rtt_ns"].to_list() == [20 * MS]
    assert not list((tmp_path / "out" / "acks").iterdir()), "ACKs of the older version"


def test_a_log_that_was_cut_off_says_where_and_what_came_before_counts(tmp_path: Path) -> None:
    log = tmp_path / "cut.pcap"
    write_pcap(log, _download().packets)
    log.write_bytes(log.read_bytes()[:-10])
    (outcome,) = read([log], tmp_path / "out", ANY_LENGTH)
    assert outcome.damage is not None
    assert "it ends within a packet; what came before is used" in outcome.damage
    assert tables.load(tmp_path / "out", "connections")["base_rtt_ns"].to_list() == [40 * MS]


def test_a_log_without_packets_has_tables_without_rows(tmp_path: Path) -> None:
    log = tmp_path / "none.pcap"
    write_pcap(log, [])
    (outcome,) = read([log], tmp_path / "out")
    assert outcome.counts["packets"] == 0
    frame = tables.load(tmp_path / "out", "connections")
    assert frame.height == 0
    assert frame.schema["base_rtt_ns"] == pl.Int64


def test_sessions_under_the_least_duration_are_counted_and_not_written(tmp_path: Path) -> None:
    log = tmp_path / "a.pcap"
    write_pcap(log, _download().packets)
    (outcome,) = read([log], tmp_path / "out")
    assert outcome.summary is not None
    assert (outcome.summary["sessions"], outcome.summary["sessions_too_short"]) == (0, 1)


def test_the_command_prints_the_connections_and_fails_when_a_log_does(tmp_path: Path) -> None:
    log = tmp_path / "a.pcap"
    write_pcap(log, _download().packets)
    out = str(tmp_path / "out")
    done = CliRunner().invoke(build_app(), ["paths", str(log), "--out", out, "--format", "json"])
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["base_rtt_ms"], row["ack_mss"], row["true_base_rtt_ms"]) == (40.0, 3.0, None)
    missing = CliRunner().invoke(build_app(), ["paths", str(tmp_path / "b"), str(log), "--out", out])
    assert missing.exit_code == 1


def test_metadata_judges_proxies_and_says_what_it_cannot(tmp_path: Path) -> None:
    log, clients = tmp_path / "a.pcap", tmp_path / "clients.csv"
    write_pcap(log, _download().packets)
    clients.write_text("client,device,asn\n10.0.0.1,Apple,7\n")
    out = tmp_path / "out"
    words = ["paths", str(log), "--out", str(out), "--min-duration", "1 s", "--metadata", str(clients)]
    done = CliRunner().invoke(build_app(), words)
    assert done.exit_code == 0, done.output
    assert "proxies: 1 of 1 session that can be judged, of 1" in done.output  # 65,536 bytes, and not 131,000
    assert "busy hours: not tested; the metadata lacks" in done.output
    assert pl.read_parquet(out / "judged.parquet")["proxied"].to_list() == [True]


def test_every_column_stands_in_the_manual() -> None:
    said = subprocess.run([binary.find(), "columns"], capture_output=True, check=True, text=True)
    manual = DOCS.read_text()
    for table, columns in json.loads(said.stdout).items():
        for column in columns:
            assert f"`{column['name']}`" in manual, f"{table}: {column['name']}"


def test_metadata_joins_by_client_and_refuses_what_is_ambiguous(tmp_path: Path) -> None:
    sessions = pl.DataFrame({"client": ["10.0.0.1", "10.0.0.2"], "log": ["a", "a"]})
    file = tmp_path / "clients.csv"
    file.write_text("client,device\n10.0.0.2,Apple\n")
    assert metadata.join(sessions, file)["device"].to_list() == [None, "Apple"]
    for text, message in (
        ("client,device\n10.0.0.2,Apple\n10.0.0.2,Vivo\n", "there twice"),
        ("device\nApple\n", "no column client or log"),
        ("client,log\n", ""),
    ):
        file.write_text(text)
        if message:
            with pytest.raises(UsageError, match=message):
                metadata.join(sessions, file)
        else:
            assert metadata.join(sessions, file).height == 2
    with pytest.raises(UsageError, match="no CSV"):
        metadata.join(sessions, tmp_path / "missing.csv")


def test_metadata_that_knows_no_session_is_refused_and_addresses_may_be_written_in_any_way(
    tmp_path: Path,
) -> None:
    sessions = pl.DataFrame({"client": ["2001:db8::1", "10.0.0.2"], "log": ["/a.pcap", "/a.pcap"]})
    file = tmp_path / "clients.csv"
    file.write_text("client, network\n 2001:DB8:0:0:0:0:0:1, wifi\n")
    assert metadata.join(sessions, file)["network"].to_list() == ["wifi", None]
    for text, example in (
        ("client,network\n10.9.9.9,wifi\n", "client 2001:db8::1"),
        ("log,network\na.pcap,wifi\n", "log /a.pcap"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match="no row of it is of any session") as caught:
            metadata.join(sessions, file)
        assert example in str(caught.value.remedy)


def test_a_session_is_proxied_when_its_window_is_odd_and_its_as_has_many_such() -> None:
    rows = [("Apple", 131_000, 1)] * 8 + [("apple", 1_000_000, 1)] * 2  # AS 1: 20 %
    rows += [("Apple", 131_000, 2)] * 19 + [("Apple", 1_000_000, 2)]  # AS 2: 5 %
    rows += [("Apple", 141_000, 3), ("Apple", 141_001, 3)]  # the margin itself is within
    rows += [("Unknown", 131_000, 4), ("Apple", None, 4), ("Apple", 1_000_000, None)]
    sessions = pl.DataFrame(
        rows, schema={"device": pl.String, "initial_rwnd_bytes": pl.Int64, "asn": pl.Int64}, orient="row"
    )
    judged = proxies.judge(sessions)
    assert judged["proxied"].to_list() == (
        [False] * 8 + [True] * 2 + [False] * 20 + [False, True] + [None, None, None]
    )
    assert judged.filter(asn=1)["as_suspected_share"].unique().to_list() == [0.2]
    assert judged.columns[:3] == sessions.columns


def _population(busy_shift_ms: float, per_window: int, rng: np.random.Generator) -> pl.DataFrame:
    """Sessions at UTC+3: log-normal delays of median 80 ms, twice as many at 21 to 24 h and longer then."""
    hours = np.concatenate([np.repeat(np.arange(0, 24, 3), per_window), np.repeat(21, per_window)])
    hours = hours[~((hours == 3) & (np.arange(len(hours)) % 10 == 0))]  # the quiet window: 3 to 6 h
    delays = rng.lognormal(np.log(80), 0.8, len(hours)) + np.where(hours == 21, busy_shift_ms, 0)
    local_s = hours * 3600 + rng.integers(0, 3 * 3600, len(hours)) + 86_400 * rng.integers(1, 28, len(hours))
    return pl.DataFrame(
        {
            "start_ns": (local_s - 3 * 3600) * 10**9,
            "utc_offset_h": 3.0,
            "country": "SA",
            "network": "wifi",
            "peak_queueing_delay_ns": (delays * MS).astype(np.int64),
        }
    )


def test_busy_hours_are_told_by_the_shift_that_they_were_made_with() -> None:
    tests = busy_hours.busy_hours(_population(40, 2000, np.random.default_rng(1)))
    assert {(t.busy_start_h, t.quiet_start_h) for t in tests} == {(21, 3)}
    assert [t.shift_ms for t in tests] == list(range(10, 101, 10))
    assert max(t.shift_ms for t in tests if t.significant) in (20, 30)
    assert not any(
        t.significant for t in busy_hours.busy_hours(_population(0, 2000, np.random.default_rng(2)))
    )


def test_a_pair_with_few_quiet_sessions_is_not_tested() -> None:
    sessions = _population(40, 550, np.random.default_rng(3))  # 495 in the quiet window
    assert busy_hours.busy_hours(sessions) == []
    assert len(busy_hours.busy_hours(sessions, least_quiet=100)) == 10


def test_holms_correction_is_the_textbooks() -> None:
    assert busy_hours.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert busy_hours.holm([]) == []


def test_a_cdf_by_group_leaves_out_what_is_unknown_and_groups_that_are_small() -> None:
    sessions = pl.DataFrame(
        {
            "network": ["wifi"] * 4 + ["wired"] * 2 + [None] * 4,
            "base_rtt_ns": [1, 1, 3, None, 5, 6, 7, 7, 7, 7],
        }
    )
    curve = groups.cdf(sessions, "base_rtt_ns", ["network"], least=3)
    assert curve.rows() == [("wifi", 3, 1.0, 2 / 3), ("wifi", 3, 3.0, 1.0)]
    whole = groups.percentiles(sessions, "base_rtt_ns", least=3)
    assert whole["sessions"].to_list() == [9]
    assert whole["p50"].to_list() == [6.0]
    assert groups.percentiles(sessions, "base_rtt_ns", ["network"], least=99).height == 0
    with pytest.raises(UsageError, match="no column base_rt"):
        groups.cdf(sessions, "base_rt")
    with pytest.raises(UsageError, match="no number"):
        groups.cdf(sessions, "network")


WIFI = r"wifi $\frac{1$ _x^ %"


def test_all_sessions_are_drawn_on_one_page_by_the_columns_of_the_metadata(tmp_path: Path) -> None:
    log, clients, out = tmp_path / "a.pcap", tmp_path / "clients.csv", tmp_path / "out"
    packets = []
    for n in range(24):
        download = Download(client=f"10.0.3.{n + 1}", port=40_000 + n)
        download.open(n * MS, (20 + n) * MS)
        download.burst(1000 * MS, 3, (20 + n) * MS)
        download.close(1200 * MS)
        packets += download.packets
    write_pcap(log, packets)
    rows = [f"10.0.3.{n + 1},{WIFI if n < 21 else 'wired'},Apple,7,SA,3" for n in range(24)]
    clients.write_text("\n".join(["client,network,device,asn,country,utc_offset_h", *rows]) + "\n")
    words = ["paths", str(log), "--out", str(out), "--min-duration", "1 s", "--metadata", str(clients)]
    done = CliRunner().invoke(build_app(), [*words, "--by", "network"])
    assert done.exit_code == 0, done.output
    page = (out / "report.html").read_text()
    assert "What the paths of 24 sessions are like" in page
    assert 'sessions of</th><th scope="col">n</th>' in page
    assert f"network {WIFI}" in page, "a dollar sign begins no formula"
    assert "network wired" not in page, "a group of three"
    assert '<figure id="cdf_base_rtt_ns">' in page
    assert "0 sessions have one, and a distribution needs 20" in done.output, "no peak queueing delay"
    wrong = CliRunner().invoke(build_app(), [*words, "--by", "netwrok"])
    assert wrong.exit_code != 0
    assert "no column netwrok" in str(wrong.exception)


def test_the_ends_of_a_path_are_compared_and_calls_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    sender, receiver = tmp_path / "sender.pcap", tmp_path / "receiver.pcap"
    packets = _download().packets
    write_pcap(sender, packets)
    write_pcap(receiver, [(t + 20 * MS, data) for n, (t, data) in enumerate(packets) if n != 9])
    done = CliRunner().invoke(
        build_app(), ["paths", str(sender), str(receiver), "--ends", "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    (row,) = json.loads(done.stdout)
    assert (row["sent"], row["lost"], row["reordered"]) == (600, 1, 0)
    assert row["least_delay_ns"] == 20 * MS
    for words, message in (
        ([str(sender), "--ends"], "--ends compares two files"),
        ([str(sender), "--live", "lo", "--out", "x"], "both files and an interface"),
        (["--out", "x"], "no packet log is named"),
        ([str(sender)], "no directory for the tables"),
        ([str(sender), "--out", "x", "--duration", "1 s"], "--duration is of --live"),
    ):
        refused = CliRunner().invoke(build_app(), ["paths", *words])
        assert message in str(refused.exception), words


@pytest.mark.needs("tcpdump")
def test_an_interface_that_cannot_be_captured_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no_such0 cannot be captured"):
        read_live("no_such0", tmp_path, ANY_LENGTH, duration_s=5)
    assert list(tmp_path.glob("connections/*")) == []
