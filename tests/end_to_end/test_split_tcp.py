"""A proxy on the path splits connections: each host has a connection with half of the base RTT."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lab

pytestmark = pytest.mark.kernel

TEXT = """
link = Link(rate="20 Mbit/s", base_rtt="30 ms", queue=pfifo(limit=50))
proxy = split_tcp()
flow = iperf3(direction="down", duration="2 s")
capture("server")
capture("client")
"""


def test_both_hosts_have_connections_of_half_the_base_rtt_and_no_packet_is_in_both_logs(
    tmp_path: Path,
) -> None:
    lab.experiment(tmp_path, TEXT)
    out = lab.narrows("run", "tiny.py", cwd=tmp_path).ok().out
    logs = sorted((tmp_path / "results/tiny").glob("*/raw/*.pcapng"))
    assert len(logs) == 2, out
    words = ("--out", "paths", "--min-duration", "1 s", "--format", "json")
    said = json.loads(lab.narrows("paths", *logs, *words, cwd=tmp_path).ok().out)
    data = [row for row in said if row["throughput_mbit_s"] > 1]
    assert [row["base_rtt_ms"] for row in data] == [pytest.approx(15, abs=0.2)] * 2
    assert {row["captured_at"] for row in data} == {"sender", "receiver"}
    both = lab.narrows("paths", *logs, "--ends", cwd=tmp_path)
    assert both.code == 1
    assert "none of the" in both.err


def test_bulk_flows_and_a_dumbbell_have_no_place_for_it(tmp_path: Path) -> None:
    text = TEXT.replace("Link(", "Dumbbell(").replace('base_rtt="30 ms"', 'pairs=[pair("30 ms")]')
    lab.experiment(tmp_path, text.replace('iperf3(direction="down", ', "bulk("))
    error = lab.narrows("plan", "tiny.py", cwd=tmp_path)
    assert error.code != 0
    assert "a Dumbbell has no node in the middle of its paths" in error.err
