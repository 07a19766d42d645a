"""Flent's data files: what we write Flent 2.3 loads with the same numbers, what it writes we read, and each
way a file can be wrong gives one clear error."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import flent.resultset
import polars as pl
import pytest
from store_fakes import plan_dict

from narrows.errors import StoreError
from narrows.flent import file as flent_file
from narrows.flent.export import export
from narrows.flent.import_ import import_file
from narrows.store import results, schema

RUN = "0123456789abcdef"
MS = 1_000_000
DATA, ACKS = "tcp 10.0.2.1:40000>10.0.0.1:5001", "tcp 10.0.0.1:5001>10.0.2.1:40000"


def stored(out: Path) -> results.Results:
    """One run: a flow down whose rate is 8 Mbit/s in its first second and 4 in its second; a UDP probe of
    20 ms RTT, every tenth packet lost; both at the tapped bottleneck."""
    directory = out / RUN
    directory.mkdir(parents=True)
    plan = plan_dict(wall_clock_ns=1_767_225_600_000_000_000, epoch_monotonic_ns=3_000_000_000)
    (directory / "plan.json").write_text(json.dumps(plan))
    manifest = {
        "run_id": RUN, "status": "ok", "experiment": "made_up", "question": "Is it?", "key": {"seed": "0"},
    }  # fmt: skip
    (directory / "manifest.json").write_text(json.dumps(manifest))
    bins = pl.DataFrame(
        {"t_ns": [10 * MS * n for n in range(200)], "value": [8e6 if n < 100 else 4e6 for n in range(200)]}
    )
    probes = pl.DataFrame(
        {
            "t_ns": [20 * MS * n for n in range(100)],
            "value": [None if n % 10 == 9 else 20e6 for n in range(100)],
        },
        schema={"t_ns": pl.Int64(), "value": pl.Float64()},
    )
    rate = {"run_id": RUN, "source": "bottleneck", "direction": "down", "series": "throughput_10ms"}
    tables = {
        "samples": [
            schema.conform(bins, "samples", rate | {"flow": DATA, "unit": "bit/s"}),
            schema.conform(
                probes, "samples", {"run_id": RUN, "source": "probe", "series": "rtt", "unit": "ns"}
            ),
        ],
        "flows": [
            schema.conform(
                pl.DataFrame(
                    {
                        "flow": [1], "src": [src], "sport": [sport], "dst": [dst], "dport": [dport],
                        "first_ns": [0], "departed_bytes": [size],
                    }
                ),
                "flows",
                {"run_id": RUN, "hop": "bottleneck", "direction": way, "protocol": "tcp", "item": "flow",
                 "label": label},
            )
            for way, label, src, sport, dst, dport, size in (
                ("down", DATA, "10.0.2.1", 40000, "10.0.0.1", 5001, 1_500_000),
                ("up", ACKS, "10.0.0.1", 5001, "10.0.2.1", 40000, 30_000),
            )
        ],
    }  # fmt: skip
    for table in schema.TABLES:
        schema.write(schema.concat(tables.get(table, []), table), directory / f"{table}.parquet")
    return results.open(out)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "run.flent.gz"
    flent_file.write(export(stored(tmp_path / "results"), RUN), path)
    return path


def test_flent_loads_our_file_with_the_same_numbers(written: Path) -> None:
    loaded = flent.resultset.load(str(written))
    assert loaded.meta("NAME") == "tcp_ndown"
    assert loaded.meta("TITLE") == "made_up seed=0"
    # 2 s in steps of 200 ms: the last probe was sent at 1.98 s, the last bin begins at 1.99 s
    assert loaded.x_values == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8]
    assert loaded.series("TCP download::1") == [8.0] * 5 + [4.0] * 5
    assert loaded.series("TCP download sum") == [8.0] * 5 + [4.0] * 5
    assert loaded.series("Ping (ms) UDP BE") == [20.0] * 10
    raw = list(loaded.raw_series("Ping (ms) UDP BE"))
    assert len(raw) == 90  # lost ones have no value
    assert raw[0] == (pytest.approx(0, abs=1e-6), 20.0)
    assert raw[-1][0] == pytest.approx(1.96, abs=1e-6)
    assert not [name for name in loaded.series_names if "upload" in name]


def test_flents_own_program_shows_our_file(written: Path, tmp_path: Path) -> None:
    """Its command line, which formats and plots with what its GUI does."""
    program, picture = Path(sys.executable).with_name("flent"), tmp_path / "totals.png"

    def flent_says(*options: str) -> str:
        command = [program, "-i", written, *options]
        made = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True
        )
        assert made.returncode == 0, made.stderr
        return made.stdout

    # half of the time 8, half of it 4 Mbit/s
    said = flent_says("-f", "stats")
    assert re.search(r"TCP download::1:(\n .*)* Mean: +6\.0+ Mbits/s", said), said
    flent_says("-f", "plot", "-p", "totals", "-o", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_flents_own_file_is_read_with_the_same_numbers(written: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.flent.gz"
    flent.resultset.load(str(written)).dump_file(str(theirs))
    out = tmp_path / "imported"
    run_id = import_file(theirs, out)
    read = results.open(out)
    assert read.run_ids == [run_id]
    rtt = read.samples(source="Ping (ms) UDP BE")
    assert set(rtt["series"].cast(pl.String)) == {"rtt"}
    assert rtt["value"].to_list() == [20e6] * 90
    assert rtt["t_ns"][-1] == pytest.approx(1.96e9, abs=1000)
    rate = read.samples(source="TCP download::1", direction="down")
    assert rate.height == 200
    assert rate["value"].sum() == pytest.approx(100 * 8e6 + 100 * 4e6)
    row = read.runs().to_dicts()[0]
    assert (row["engine"], row["experiment"], row["rate_down_bps"]) == ("flent", "tcp_ndown", None)
    # once more: the same run, nothing twice
    assert import_file(theirs, out) == run_id
    assert results.open(out).run_ids == [run_id]


def content(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return value


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
        ({"x_values": [0.0, 0.2]}, "has 10 values for 2 times"),
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


def test_what_is_no_number_is_no_value(written: Path, tmp_path: Path) -> None:
    changed = content(written)
    changed["results"] = {"TCP download::1": [float("nan"), None, "x", True, *[1.0] * 6]}
    changed["raw_values"] = {}
    path = tmp_path / "odd.flent.gz"
    path.write_bytes(gzip.compress(json.dumps(changed).encode()))
    values = flent_file.read(path).results["TCP download::1"]
    assert values == [None, None, None, None, *[1.0] * 6]


def test_a_failed_run_is_not_exported(tmp_path: Path) -> None:
    store = stored(tmp_path)
    store.manifest(RUN)["status"] = "failed"
    with pytest.raises(StoreError, match="this run failed"):
        export(store, RUN)
