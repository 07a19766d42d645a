"""A dump of TCP_INFO that is larger than memory should hold is read in pieces, to the same rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from narrows.errors import StoreError
from narrows.store import schema, sources
from narrows.store.spill import Spill
from narrows.store.whose import Whose

KEYS = "t_ns,src,sport,dst,dport,cca,state"
FIELDS = ["rtt", "snd_cwnd", "min_rtt", "bytes_acked", "unacked", "lost"]


def dump(path: Path, instants: int, sockets: int) -> None:
    with path.open("w") as file:
        file.write(f"{KEYS},{','.join(FIELDS)}\n")
        for t in range(instants):
            for port in range(sockets):
                file.write(f"{t * 10_000_000},10.0.0.1,{30000 + port},10.0.2.1,443,cubic,ESTABLISHED")
                file.write(f",{20000 + t},{10 + port},4294967295,{t * port},0,\n")


def table(tmp_path: Path, piece_bytes: int, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    monkeypatch.setattr(sources, "PIECE_BYTES", piece_bytes)
    spill = Spill(tmp_path, "run")
    parsed = sources._tcp_info(tmp_path, "tcp-client.csv", Whose(hop="tcp-client"), spill)
    kept = schema.concat([spill.with_run(frame) for frame in parsed.samples], "samples")
    height = spill.write(kept, tmp_path / "samples.parquet")
    found = pl.read_parquet(tmp_path / "samples.parquet")
    assert found.height == height
    assert [path.name for path in tmp_path.glob(".samples*")] == []
    return found


def test_pieces_give_the_rows_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump(tmp_path / "tcp-client.csv", 50, 4)
    whole = table(tmp_path, 1_000_000, monkeypatch)
    # 50 instants of 4 sockets; min_rtt has no value yet and lost is empty: four fields of six make rows.
    assert whole.height == 50 * 4 * 4
    pieces = table(tmp_path, 2000, monkeypatch)
    text = pl.col("run_id", "hop", "quantity", "flow", "unit").cast(pl.String)
    order = ["quantity", "flow", "t_ns"]
    assert pieces.with_columns(text).sort(order).equals(whole.with_columns(text).sort(order))
    one = pieces.with_columns(text).filter(
        (pl.col("quantity") == "tcp_info.rtt") & pl.col("flow").str.contains("30001")
    )
    assert one["t_ns"].to_list() == [t * 10_000_000 for t in range(50)]


def test_a_bad_line_far_into_the_file_is_named_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tcp-client.csv"
    dump(path, 50, 4)
    lines = path.read_text().splitlines()
    lines[149] = lines[149].replace("20037", "many")
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(StoreError, match="line 150: rtt is 'many'"):
        table(tmp_path, 2000, monkeypatch)


def test_an_empty_dump_is_an_error_and_one_without_sockets_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tcp-client.csv").write_text("")
    with pytest.raises(StoreError, match="empty"):
        table(tmp_path, 2000, monkeypatch)
    dump(tmp_path / "tcp-client.csv", 0, 0)
    assert table(tmp_path, 2000, monkeypatch).height == 0


PEAK = """
import json, resource, sys
from pathlib import Path
from narrows.store import schema, sources
from narrows.store.spill import Spill
from narrows.store.whose import Whose
sources.PIECE_BYTES = 500_000
here = Path(sys.argv[1])
spill = Spill(here, "run")
parsed = sources._tcp_info(here, "tcp-client.csv", Whose(hop="tcp-client"), spill)
rows = spill.write(schema.empty("samples"), here / "samples.parquet")
print(json.dumps([rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    peaks = []
    for instants in (50, 600):
        dump(tmp_path / "tcp-client.csv", instants, 200)
        ran = subprocess.run(
            [sys.executable, "-c", PEAK, str(tmp_path)], check=True, capture_output=True, text=True,
            env={"POLARS_MAX_THREADS": "1", "MALLOC_ARENA_MAX": "1"},
        )  # fmt: skip
        rows, peak = json.loads(ran.stdout)
        assert rows == instants * 200 * 4
        peaks.append(peak)
    # 480,000 rows of 37 bytes and their making against 40,000: held at once they are some 70 MB more.
    assert peaks[1] - peaks[0] < 40_000_000, peaks
