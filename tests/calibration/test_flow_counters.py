"""The flow tap against counts that do not depend on it: the queue's own drops, TCP_INFO, captured packets."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lab
from narrows.engine.uml import UmlEngine
from narrows.store import flow_tap, tap
from narrows.store.ingest import ingest

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

MS = 1_000_000
FIFO = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=30))
flow = bulk(cca="reno", duration="8 s", sample="100 ms", start_jitter="0 s")
"""
WATCHED = FIFO + 'flow_tap(warm_up="2 s", interval="1 s")\n'


def kept(directory: Path, text: str, **changes: Any) -> tuple[lab.Raw, dict[str, pl.DataFrame]]:
    """A run whose raw taps are kept, and its tables."""
    raw = lab.carry(lab.edited(lab.plan(directory, text), **changes), directory / "run").ok()
    for name in ("tap.bin", "flow_tap.bin"):
        (directory / name).write_bytes((raw.raw / name).read_bytes())
    one = lab.Plan.read(raw.directory / "plan.json")
    finished = ingest(raw.directory, lab.facts(one, raw, UmlEngine()))
    assert finished.error is None, finished.error
    names = ("tcp_flows", "tcp_events", "tcp_samples", "queue", "metrics")
    return raw, {name: pl.read_parquet(raw.directory / f"{name}.parquet") for name in names}


def told_by_tcp_info(raw: lab.Raw, item: str = "flow") -> dict[str, str]:
    (row,) = csv.DictReader((raw.raw / f"{item}.flows.csv").open())
    return row


def last_info(raw: lab.Raw, field: str, item: str = "flow") -> int:
    return int(list(csv.DictReader((raw.raw / f"{item}.info.csv").open()))[-1][field])


def episodes(t_ns: np.ndarray[Any, Any], apart_ns: int) -> int:
    """Groups of drops with more than so much between them."""
    return 0 if t_ns.size == 0 else 1 + int(np.count_nonzero(np.diff(np.sort(t_ns)) > apart_ns))


def test_one_reno_flow_halves_its_window_once_for_each_time_that_the_fifo_overflows(tmp_path: Path) -> None:
    _, tables = kept(tmp_path, WATCHED)
    drops = tables["queue"].filter((pl.col("event") == "drop") & (pl.col("direction") == "down"))
    # Drops less than a round trip apart (20 ms and 31 packets of 1.21 ms) are one episode: TCP hears of them
    # while it recovers. Episodes are a sawtooth apart: 23 round trips, about a second.
    expected = episodes(drops["t_ns"].to_numpy(), round(57.5 * MS))
    assert expected >= 4
    reductions = tables["tcp_events"].filter(pl.col("reduction"))
    assert reductions.height == expected
    assert set(reductions["kind"]) == {"recovery"}
    # In congestion avoidance each loss event is one packet, and Reno halves. The first is slow start's.
    later = reductions.slice(1)
    assert (later["cwnd_after"] == later["cwnd_before"] // 2).all()


def test_counters_are_those_of_tcp_info_less_the_warm_up(tmp_path: Path) -> None:
    raw, tables = kept(tmp_path, WATCHED)
    (flow,) = tables["tcp_flows"].iter_rows(named=True)
    info = told_by_tcp_info(raw)
    at_start = tables["tcp_samples"].filter((pl.col("t_ns") - 2_000 * MS).abs() < 10)
    assert flow["start_ns"] == pytest.approx(2_000 * MS, abs=10)  # a timer comes a nanosecond late
    assert flow["stop_ns"] == pytest.approx(int(info["end_ns"]), abs=10_000)
    assert flow["bytes_acked"] == int(info["bytes_acked"]) - at_start["bytes_acked"].item()
    assert flow["min_rtt_us"] == int(info["min_rtt_us"])
    early = tables["tcp_events"].filter(pl.col("t_ns") < 2_000 * MS)
    assert early.height > 0, "nothing was dropped by leaving the warm-up out"
    counted = tables["tcp_events"].filter(pl.col("reduction") & (pl.col("t_ns") >= 2_000 * MS)).height
    assert flow["reductions"] == counted


def test_retransmissions_are_those_of_tcp_info(tmp_path: Path) -> None:
    raw, tables = kept(tmp_path, FIFO + "flow_tap()\n")
    (flow,) = tables["tcp_flows"].iter_rows(named=True)
    info = told_by_tcp_info(raw)
    assert flow["retransmitted_packets"] == int(info["segs_retrans"]) > 0
    assert flow["bytes_retrans"] == int(info["bytes_retrans"])
    dropped = tables["queue"].filter((pl.col("event") == "drop") & (pl.col("direction") == "down")).height
    assert flow["lost_packets"] == dropped, "one flow, no reordering: marked lost is what the queue dropped"


def test_marks_make_cwrs_and_no_loss_event(tmp_path: Path) -> None:
    text = """
    link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=codel(ecn=True, limit=1000))
    flow = bulk(cca="reno", ecn=True, duration="6 s")
    flow_tap()
    """
    _, tables = kept(tmp_path, text)
    (flow,) = tables["tcp_flows"].iter_rows(named=True)
    during = tables["queue"].filter((pl.col("direction") == "down") & (pl.col("t_ns") >= 0))
    down = during["event"].cast(pl.String)
    assert (down == "drop").sum() == 0
    assert flow["ecn"] is True
    assert flow["cwrs"] == flow["reductions"] > 3
    assert flow["recoveries"] == flow["timeouts"] == flow["retransmitted_packets"] == 0
    assert flow["delivered_ce_packets"] > 0
    assert (down == "mark").sum() >= flow["cwrs"]


def test_a_dead_link_makes_timeouts_as_tcp_info_counts_them(tmp_path: Path) -> None:
    one = lab.plan(tmp_path, FIFO)
    (netem,) = [
        step.args for step in one.setup if step.node == "path" and step.tool == "tc" and "eth0" in step.args
    ]
    words = ["change" if word in ("add", "replace") else word for word in netem]
    dead = {"node": "path", "tool": "tc", "args": [*words, "loss", "random", "100%"]}
    alive = {"node": "path", "tool": "tc", "args": [*words, "loss", "random", "0%"]}
    changes = [{"at_ns": 3_000 * MS} | dead, {"at_ns": 5_000 * MS} | alive]
    raw, tables = kept(tmp_path / "dead", FIFO + "flow_tap()\n", changes=changes)
    (flow,) = tables["tcp_flows"].iter_rows(named=True)
    assert flow["timeouts"] == last_info(raw, "total_rto") >= 2
    timeouts = tables["tcp_events"].filter(pl.col("kind") == "timeout")
    assert timeouts.height == flow["timeouts"]
    assert timeouts["reduction"].to_list() == [True] + [False] * (timeouts.height - 1), "backed off, not anew"
    assert timeouts["t_ns"].min() >= 3_000 * MS  # type: ignore[operator]
    assert timeouts["cwnd_after"][0] == 1


def test_watching_flows_changes_no_packet_and_neither_does_the_lean_tap(tmp_path: Path) -> None:
    watch = 'at_server = capture("server")\nat_client = capture("client")\n'
    text = FIFO.replace('"8 s"', '"4 s"') + watch
    more = {
        "off": 'tap("off")\n',
        "on": 'tap("drops")\nflow_tap(warm_up="1 s", interval="10 ms")\n',
        "other": 'tap("packets")\n',
    }
    raws = {name: lab.carry(lab.plan(tmp_path / name, text + m), tmp_path / name / "run").ok() for name, m in
            more.items()}  # fmt: skip
    for name in ("at_server.pcapng", "at_client.pcapng"):
        assert len({raw.bytes_of(name) for raw in raws.values()}) == 1, name
    assert flow_tap.read(raws["on"].raw / "flow_tap.bin").samples.size > 300


@pytest.mark.parametrize("queue", ["pfifo(limit=30)", "fq_codel(limit=30, ecn=True)"])
def test_the_lean_tap_tells_the_same_as_the_full_one(tmp_path: Path, queue: str) -> None:
    text = f"""
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue={queue})
flow = bulk(cca="cubic", flows=4, ecn=True, duration="4 s")
"""
    raws = {
        mode: lab.carry(lab.plan(tmp_path / mode, text + f'tap("{mode}")\n'), tmp_path / mode / "run").ok()
        for mode in ("packets", "drops")
    }
    full, lean = (tap.read(raws[mode].raw / "tap.bin") for mode in ("packets", "drops"))
    assert [hop["tap"] for hop in raws["packets"].result["hops"]] == [
        hop["tap"] for hop in raws["drops"].result["hops"]
    ]
    down, single = full.of_hop(0), lean.of_hop(0)
    chosen = down[(down["outcome"] != tap.DEPARTED) | tap.marked(down)]
    assert chosen.size > 3
    for field in ("arrival_ns", "sojourn_ns", "bytes", "outcome", "reason", "backlog_bytes"):
        assert np.array_equal(chosen[field], single[field]), field
    # the same sums, by interval
    sums = lean.intervals[lean.intervals["hop"] == 0]
    gone = down[down["outcome"] == tap.DEPARTED]
    left = (gone["arrival_ns"] + gone["sojourn_ns"]) // 10_000_000
    counted = dict(zip(*(part.tolist() for part in np.unique(left, return_counts=True)), strict=True))
    told = {
        int(row["start_ns"]) // 10_000_000: int(row["departed_packets"])
        for row in sums
        if row["departed_packets"]
    }
    assert told == counted
    assert int(sums["sojourn_sum_ns"].sum()) == int(gone["sojourn_ns"].sum())
    assert int(sums["sojourn_max_ns"].max()) == int(gone["sojourn_ns"].max())
    assert int(sums["packets_max"].max()) == int(down["backlog_packets"].max())
