"""What `narrows paths` says of captures of a run is what the run's plan and tap know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lab
from narrows.runs.load import load

pytestmark = pytest.mark.kernel

TEXT = """
link = Link(rate="20 Mbit/s", base_rtt="30 ms", queue=pfifo(limit=150))
flow = bulk(cca="cubic", duration="8 s")
capture("server")
capture("client")
"""


@pytest.fixture(scope="module")
def cwd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run is."""
    cwd = tmp_path_factory.mktemp("paths")
    lab.experiment(cwd, TEXT)
    lab.narrows("run", "tiny.py", cwd=cwd).ok()
    return cwd


@pytest.fixture(scope="module")
def rows(cwd: Path) -> dict[str, dict[str, Any]]:
    """What the command prints, by the capture's place."""
    captures = sorted(Path(cwd / "results/tiny").glob("*/raw/*.pcapng"))
    assert len(captures) == 2
    said = lab.narrows("paths", *captures, "--out", "paths", "--format", "json", cwd=cwd).ok().out
    return {row["log"].split()[-1]: row for row in json.loads(said)}


def test_at_the_sender_base_rtt_and_peak_queueing_delay_are_the_truth(
    rows: dict[str, dict[str, Any]],
) -> None:
    row = rows["server:eth0"]
    assert row["captured_at"] == "sender"
    assert row["true_base_rtt_ms"] == 30
    assert row["base_rtt_ms"] == pytest.approx(30, abs=0.1)
    assert row["true_peak_queue_ms"] > 60
    # Both directions' waits, less what the drawing of samples (one an ACK, not one a packet) can differ.
    waits = row["true_peak_queue_ms"] + row["true_peak_queue_of_acks_ms"]
    assert row["peak_queue_ms"] == pytest.approx(waits, rel=0.02)


def test_every_drop_of_the_queue_was_sent_again_and_no_other(rows: dict[str, dict[str, Any]]) -> None:
    for row in rows.values():
        assert row["true_drops"] > 0
        assert row["retransmitted"] == row["true_drops"]


def test_a_plain_receiver_acknowledges_every_second_segment(rows: dict[str, dict[str, Any]]) -> None:
    assert [row["ack_mss"] for row in rows.values()] == [2, 2]


def test_at_the_receiver_base_rtt_is_that_of_the_handshake_and_a_queueing_delay_is_not_claimed(
    rows: dict[str, dict[str, Any]],
) -> None:
    row = rows["client:eth0"]
    assert row["captured_at"] == "receiver"
    assert row["base_rtt_ms"] == pytest.approx(30, abs=0.1)
    assert row["peak_queue_ms"] is None


def test_a_shard_keeps_what_captures_say_and_what_both_ends_know(cwd: Path) -> None:
    lab.narrows("archive", "results/tiny", "--out", "a.runs.parquet", cwd=cwd).ok()
    (run,) = load(cwd / "a.runs.parquet")
    assert run.path_logs is not None
    sender, receiver = sorted(run.path_logs, key=lambda row: str(row["vantage"]), reverse=True)
    assert (sender["captured_at"], receiver["captured_at"]) == ("server:eth0", "client:eth0")
    assert sender["base_rtt_ns"] == pytest.approx(sender["true_base_rtt_ns"], rel=0.01)
    assert sender["capacity_bps"] == pytest.approx(sender["true_capacity_bps"], rel=0.01)
    assert sender["true_lost"] == sender["true_drops"] == sender["retransmitted_segments"] > 0
    assert (sender["true_reordered"], sender["true_policed"]) == (0, 0)
    assert not {"client", "server", "log"} & set(sender), "what only names it"
