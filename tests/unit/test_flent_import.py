"""Files of Flent's as runs: every series in its own unit, nothing left out without a word, one clear line for
what is no such file, and one for each command that cannot do anything with such a run."""

from __future__ import annotations

import gzip
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import flent.resultset
import pytest
from made_up_flent import RUN, Made, store
from typer.testing import CliRunner

from narrows.cli.main import build_app
from narrows.errors import NarrowsError, StoreError
from narrows.flent import file as flent_file
from narrows.flent.export import export
from narrows.flent.import_ import import_file
from narrows.store import results

TEXT = 'flow = bulk(direction="down", duration="1 s")\nprobe = udp_probe(interval="20 ms", duration="2 s")\n'
T0 = 1_767_225_600.0


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A flow of 4 Mbit/s from 0 to 2 s, and probes of 20 ms of which every tenth is lost."""
    path = tmp_path / "run.flent.gz"
    flent_file.write(export(store(tmp_path / "results", TEXT, [Made("down", 0, 2000, 4e6)]), RUN), path)
    return path


def content(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return value


def theirs(path: Path, results_: dict[str, Any], raw: dict[str, Any], **more: Any) -> Path:
    """A small file as Flent writes it, with two steps."""
    metadata = {"NAME": "rrul_be", "T0": "2026-01-01T00:00:00.000000Z", "SERIES_META": {}, "TOTAL_LENGTH": 1}
    data = {
        "metadata": metadata, "version": 4, "x_values": [0.0, 0.2], "results": results_, "raw_values": raw,
    } | more  # fmt: skip
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return path


def rows(out: Path, source: str) -> dict[tuple[str, str | None], tuple[list[float | None], str]]:
    """Values and unit by series and direction."""
    frame = results.open(out).samples(item=source)
    return {
        (str(series), None if way is None else str(way)): (part["value"].to_list(), str(part["unit"][0]))
        for (series, way), part in frame.group_by("quantity", "direction", maintain_order=True)
    }


def test_flents_own_file_is_read_with_the_same_numbers(written: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.flent.gz"
    flent.resultset.load(str(written)).dump_file(str(theirs))
    out = tmp_path / "imported"
    run_id = import_file(theirs, out)
    read = results.open(out)
    assert read.run_ids == [run_id]
    rtt = read.samples(item="Ping (ms) UDP BE", quantity="rtt")
    assert rtt["value"].to_list() == [None if n % 10 == 9 else 20e6 for n in range(100)]
    # T0 is 5 s before the load
    assert rtt["t_ns"][-1] == pytest.approx(5e9 + 1.98e9, abs=1000)
    rate = read.samples(item="TCP download::1", quantity="throughput", direction="down")
    assert rate["value"].to_list() == pytest.approx([4e6] * 10)
    row = read.runs().to_dicts()[0]
    assert (row["engine"], row["experiment"], row["rate_down_bps"]) == ("flent", "tcp_ndown", None)
    # once more: the same run, nothing twice
    assert import_file(theirs, out) == run_id
    assert results.open(out).run_ids == [run_id]


def test_what_a_socket_said_is_no_rate(tmp_path: Path) -> None:
    """60 ms are 60000 us and not 60 Mbit/s; Flent keeps them as results of their own and beside the rate."""
    raw = {"TCP upload::1": [{"t": T0, "val": 9.0, "dur": 0.2}, {"t": T0, "tcp_rtt": 60.0, "tcp_cwnd": 30}]}
    grid = {
        "TCP upload::1": [9.0, 9.0],
        "TCP upload::1::tcp_rtt": [60.0, None],
        "TCP upload::1::tcp_cwnd": [30.0, None],
        "TCP download BE::tcp_pacing_rate": [8.0, 16.0],
        "TCP upload fairness": [0.5, 1.0],
    }
    import_file(theirs(tmp_path / "x.flent.gz", grid, raw), tmp_path / "out")
    assert rows(tmp_path / "out", "TCP upload::1") == {
        ("throughput", "up"): ([9e6], "bit/s"),
        ("tcp_info.rtt", "up"): ([60_000.0], "us"),
        ("tcp_info.snd_cwnd", "up"): ([30.0], "packets"),
    }
    pacing = rows(tmp_path / "out", "TCP download BE")
    assert pacing == {("tcp_info.pacing_rate", "down"): ([1e6, 2e6], "bytes/s")}
    assert rows(tmp_path / "out", "TCP upload fairness") == {("fairness", "up"): ([0.5, 1.0], "1")}


def test_each_way_of_a_probe_and_its_losses_are_kept(tmp_path: Path) -> None:
    raw = {
        "Ping (ms) UDP BE": [
            {"t": T0, "seq": 0, "val": 30.0, "owd_up": 20.0, "owd_down": 10.0, "ipdv_up": 1.0},
            {"t": T0 + 0.2, "seq": 1, "lost": True, "lost_dir": "up"},
        ]
    }
    out = tmp_path / "out"
    run_id = import_file(theirs(tmp_path / "x.flent.gz", {"Ping (ms) UDP BE": [30.0, None]}, raw), out)
    assert rows(out, "Ping (ms) UDP BE") == {
        ("rtt", None): ([30e6, None], "ns"),
        ("owd", "up"): ([20e6], "ns"),
        ("owd", "down"): ([10e6], "ns"),
        ("ipdv", "up"): ([1e6], "ns"),
    }
    # a word is no number: it is said that it was left out
    warnings = results.open(out).manifest(run_id)["warnings"]
    assert "Ping (ms) UDP BE: lost_dir of 1 raw values is no number and was left out" in warnings


def test_the_delay_of_a_qdisc_is_no_one_way_delay(tmp_path: Path) -> None:
    raw = {"qdisc_stats_router": [{"t": T0, "delay": 15.3}], "VoIP": [{"t": T0, "delay": 7.0}]}
    import_file(theirs(tmp_path / "x.flent.gz", {"VoIP": [7.0, None]}, raw), tmp_path / "out")
    assert rows(tmp_path / "out", "qdisc_stats_router") == {("delay", None): ([15.3], "1")}
    assert rows(tmp_path / "out", "VoIP")["owd", "up"] == ([7e6], "ns")


def test_raw_values_without_a_result_and_nested_ones_are_read(tmp_path: Path) -> None:
    raw = {
        "qdisc_stats_router": [{"t": T0, "dropped": 3, "cake": {"tin0": {"av_delay": 5.0}}}, {"val": 1.0}],
        "Ping (ms) ICMP": [],
    }
    out = tmp_path / "out"
    run_id = import_file(theirs(tmp_path / "x.flent.gz", {}, raw), out)
    assert rows(out, "qdisc_stats_router") == {
        ("cake::tin0::av_delay", None): ([5.0], "1"),
        ("dropped", None): ([3.0], "1"),
    }
    assert any("1 raw values without a time" in w for w in results.open(out).manifest(run_id)["warnings"])
    assert [path.name for path in out.iterdir()] == [run_id]  # nothing half-made beside it


def test_commands_say_in_one_line_what_an_imported_run_lacks(written: Path, tmp_path: Path) -> None:
    out = tmp_path / "imported"
    run = f"{out}/{import_file(written, out)}"
    own = f"{tmp_path}/results/{RUN}"

    def said(*words: str) -> str:
        done = CliRunner().invoke(build_app(), list(words))
        if isinstance(done.exception, NarrowsError):
            return done.exception.line() if hasattr(done.exception, "line") else str(done.exception)
        assert done.exception is None, (words, done.exception)
        return done.output

    assert "imported   from run.flent.gz" in said("show", run)
    assert "was imported from Flent, so it has no plan" in said("diff", run, own)
    assert "a report needs a plan" in said("report", str(out))
    assert "a shard holds runs with a plan" in said(
        "archive", str(out), "--out", f"{tmp_path}/a.runs.parquet"
    )
    assert "was imported from a file of Flent's" in said("flent", "export", run, f"{tmp_path}/b.flent.gz")
    assert "not measured" in said("claims", "r8", "--results", str(out))
    assert "run.flent.gz" in said("list", str(out))


def test_an_older_file_names_the_command_that_converts_it(tmp_path: Path) -> None:
    """Version 3 kept UDP probes as transactions a second: 50 are 20 ms. Flent's own program converts them."""
    old = tmp_path / "an old one.flent.gz"
    raw = {"Ping (ms) UDP BE": [{"t": T0, "dur": 0.2, "val": 50.0}]}
    theirs(old, {"Ping (ms) UDP BE": [20.0, 20.0]}, raw, version=3)
    with pytest.raises(StoreError, match="format version 3 of Flent, not 4") as refused:
        import_file(old, tmp_path / "out")
    command = shlex.split(str(refused.value.remedy).partition(": ")[2])
    assert command[:2] == ["python3", "-c"]
    subprocess.run([sys.executable, *command[1:]], check=True, cwd=tmp_path)
    import_file(tmp_path / "an old one.v4.flent.gz", tmp_path / "out")
    assert rows(tmp_path / "out", "Ping (ms) UDP BE") == {("rtt", None): ([20e6], "ns")}


def test_a_file_cut_anywhere_is_called_truncated(written: Path, tmp_path: Path) -> None:
    whole = written.read_bytes()
    for size in (3, 10, 20, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        cut = tmp_path / "cut.flent.gz"
        cut.write_bytes(whole[:size])
        with pytest.raises(StoreError, match=r"cut\.flent\.gz: the file is truncated"):
            import_file(cut, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 5}, "format version 5 of Flent, not 4"),
        ({"version": 3}, "format version 3 of Flent, not 4"),
        ({"version": None}, "format version None of Flent"),
        ({"metadata": {}}, "name no test"),
        ({"x_values": [0.0, 0.2]}, "values for 2 times"),
        ({"x_values": "no"}, "x_values is no list"),
        ({"x_values": [None] * 10}, "an entry of x_values is no number"),
        ({"results": []}, "results or raw_values are missing"),
        ({"raw_values": {"a": 1}}, "a is no list"),
    ],
)
def test_a_file_of_another_version_or_shape_says_so(
    written: Path, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    other = tmp_path / "other.flent.gz"
    other.write_bytes(gzip.compress(json.dumps(content(written) | change).encode()))
    with pytest.raises(StoreError, match=said):
        import_file(other, tmp_path / "out")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"hello", "not JSON"),
        (b"\x1f\x8b rubbish", "damaged"),
        (b"[1, 2]", "no metadata and x_values"),
        (b'{"start": {}, "intervals": [], "end": {}}', "a report of iperf3"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_file_that_is_not_flents_says_so(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "x.flent.gz"
    path.write_bytes(data)
    with pytest.raises(StoreError, match=said):
        import_file(path, tmp_path / "out")


def test_what_is_no_number_is_no_value(tmp_path: Path) -> None:
    path = theirs(tmp_path / "odd.flent.gz", {"TCP download::1": [float("nan"), True]}, {})
    assert flent_file.read(path).results["TCP download::1"] == [None, None]
