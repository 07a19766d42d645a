"""Captures have all that the tap has, under the name of their place, and a packet in one is in the other."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import polars as pl
import pytest

import lab

OUT, IN = 2, 1
TEXT = """
link = Link(rate="10 Mbit/s", base_rtt="100 ms", queue=fq_codel())
flow = bulk(bytes="100 KB")
capture("server")
capture("bottleneck-down")
mine = capture("client")
"""


def packets(path: Path) -> list[tuple[int, int, int]]:
    """Stamp in Unix nanoseconds, length and direction of each enhanced packet block."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low, kept, size = struct.unpack_from("<IIII", data, at + 12)
            options = at + 28 + (kept + 3) // 4 * 4
            (flags,) = struct.unpack_from("<I", data, options + 4)
            found.append((high << 32 | low, size, flags))
        at += length
    return found


def test_a_capture_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    names = [each.id for each in lab.plan(tmp_path, TEXT).captures]
    assert sorted(names) == ["bottleneck-down-both", "mine", "server"]
    twice = 'capture("server", stop="1 s")\ncapture("server")\ncapture("path:eth1")\n'
    names = [each.id for each in lab.plan(tmp_path, lab.SMALL + twice).captures]
    assert sorted(names) == ["capture-server", "path-eth1", "server"]
    clash = lab.SMALL.replace("flow =", "server =") + 'capture("server")\n'
    assert [each.id for each in lab.plan(tmp_path, clash).captures] == ["capture-server"]


@pytest.mark.kernel
@pytest.mark.slow
def test_every_packet_of_the_tap_is_in_the_capture_at_its_time_to_the_last(tmp_path: Path) -> None:
    lab.experiment(tmp_path, TEXT)
    lab.narrows("run", "tiny.py", "--out", "r", cwd=tmp_path).ok()
    (run,) = lab.run_dirs(tmp_path / "r")
    t0 = json.loads((run / "manifest.json").read_bytes())["t0_unix_ns"]
    queue = pl.read_parquet(run / "queue.parquet").filter(
        (pl.col("event") == "depart") & (pl.col("direction") == "down") & (pl.col("t_ns") >= 0)
    )
    captured = [
        (at - t0, size) for at, size, way in packets(run / "raw/bottleneck-down-both.pcapng") if way == OUT
    ]
    assert captured == list(queue.select("t_ns", "bytes").iter_rows())
    # the end of the connection too, which comes after the item has ended
    for name, way in (("server", OUT), ("mine", IN)):
        assert len([1 for *_, each in packets(run / f"raw/{name}.pcapng") if each == way]) == len(captured)
