"""Every queue of the spec carries many flows in a Dumbbell, and what the lean tap counts is what tc counts.

Twelve flows from three senders; drops and marks by the tap, one by one and per flow, against `tc -s` at the
end; the flow tap's own counts beside them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lab
from narrows.engine import layout
from narrows.engine.uml import UmlEngine
from narrows.runs.load_many import reader
from narrows.store import tap
from narrows.store.ingest import ingest

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

FLOWS = 12
SECONDS = 10
ROUND_TRIP_NS = 250_000_000
"""More than the longest base RTT and 250 packets that wait."""
LOAD = """
link = Dumbbell(
    rate="20 Mbit/s", queue={queue}, pairs=[pair("20 ms", senders=2), pair("50 ms")], shaper={shaper}
)
flow = bulk(cca="reno", flows={flows}, ecn={ecn}, start_spread="500 ms", duration="{seconds} s")
tap("drops", interval="100 ms")
flow_tap(warm_up="2 s", interval="500 ms")
sample(tcp_info=None, qdisc="100 ms", link=None)
"""
QUEUES = (
    "pfifo(limit=60)",
    'bfifo(limit="90 KB")',
    "pfifo_head_drop(limit=60)",
    "codel()",
    "fq_codel(ecn=False)",
    "sfq()",
    "pie()",
    "docsis_pie()",
    "fq_pie()",
    'red(limit="400 KB", min="30 KB", max="90 KB")',
    "choke(limit=250)",
    "sfb()",
    "hhf(limit=60)",
    "fq(limit=60)",
    "cake()",
    'cake(flow_isolation="flowblind", diffserv="besteffort")',
    "dualpi2()",
)
MARKING = {
    "codel(ecn=True)": "ecn_mark",
    "fq_codel()": "ecn_mark",
    "pie(ecn=True)": "ecn_mark",
    "fq_pie(ecn=True)": "ecn_mark",
    'red(limit="400 KB", min="30 KB", max="90 KB", ecn=True)': "marked",
    "choke(limit=250, ecn=True)": "marked",
    "sfb()": "marked",
    "cake()": "ecn_mark",
    "dualpi2()": None,
}
"""And what tc's JSON calls its count of marks; Debian 12's tc knows nothing of DualPI2, the sampler does."""


class Run:
    """A run that was taken in, its raw result and its tables."""

    def __init__(self, tmp_path: Path, queue: str, *, ecn: bool, shaper: str) -> None:
        text = LOAD.format(queue=queue, ecn=ecn, flows=FLOWS, seconds=SECONDS, shaper=shaper)
        raw = lab.carry(lab.plan(tmp_path, text), tmp_path / "run").ok()
        self.directory, self.result = raw.directory, raw.result
        packets = tap.read(raw.raw / layout.TAP).packets
        dropped = packets["outcome"] == tap.DROPPED
        self.marked_and_dropped = int(np.count_nonzero(tap.got_ce(packets) & dropped))
        self.ecn = ecn
        one = lab.Plan.read(raw.directory / "plan.json")
        finished = ingest(raw.directory, lab.facts(one, raw, UmlEngine()))
        assert finished.error is None, finished.error
        self.manifest = lab.manifest(raw.directory)
        (self.hop,) = self.result["hops"]

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.directory / f"{name}.parquet")

    def counted(self, name: str) -> int:
        """Of all flows in the table of the tap's flows, set-up and calibration included, as tc counts."""
        return int(self.table("flows")[name].sum())

    def per_flow(self, name: str) -> dict[str, int]:
        """By the flow's label, of the bulk flows only."""
        rows = self.table("flows").filter(pl.col("item").is_not_null())
        return dict(zip(rows["label"].cast(pl.String), rows[name], strict=True))

    def marks_of(self, label: str) -> list[int]:
        """When packets of this flow were marked, in ns."""
        (number,) = self.table("flows").filter(pl.col("label").cast(pl.String) == label)["flow"]
        marks = self.table("queue").filter(
            pl.col("event").cast(pl.String) == "mark", pl.col("flow") == number
        )
        return marks["t_ns"].to_list()

    def dropped_between(self, label: str, start_ns: int, stop_ns: int) -> int:
        """Packets of this flow that the bottleneck dropped then."""
        (number,) = self.table("flows").filter(pl.col("label").cast(pl.String) == label)["flow"]
        rows = self.table("queue").filter(pl.col("event").cast(pl.String) == "drop", flow=number)
        return rows.filter(pl.col("t_ns").is_between(start_ns, stop_ns)).height

    def qdiscs(self) -> list[dict[str, Any]]:
        """Root first, as `tc -s -j` showed them at the end."""
        shown: list[dict[str, Any]] = self.result["tc_after"]["router"]["eth0"]["qdisc"]
        return sorted(shown, key=lambda q: not q.get("root"))

    def marks_of_tc(self, word: str) -> int:
        """By the qdisc itself; of CAKE the sum over its tins."""
        parts = [q for shown in self.qdiscs() for q in (shown, *shown.get("tins", ()))]
        marks = [q[word] for q in parts if word in q]
        assert marks, self.qdiscs()
        return int(sum(marks))

    def marks_of_sampler(self) -> tuple[int, int]:
        """The last sample of the qdisc's own count, and what had left with a mark until then, by the tap."""
        rows = self.table("samples").filter(pl.col("quantity").cast(pl.String) == "marks").sort("t_ns")
        marked = self.table("queue").filter(pl.col("event").cast(pl.String) == "mark")
        return int(rows["value"][-1]), marked.filter(pl.col("t_ns") <= rows["t_ns"][-1]).height


def check_counts(run: Run) -> None:
    """Every packet is accounted for; every drop and mark has a row, a flow, and its place in tc's count."""
    tap, root = run.hop["tap"], run.qdiscs()[0]
    assert [check["verdict"] for hop in run.manifest["conservation"] for check in hop["checks"]] == ["ok"] * 5
    assert tap["arrived_packets"] == tap["departed_packets"] + tap["dropped_packets"] + tap["queued_packets"]
    assert tap["departed_bytes"] > 0.85 * 20e6 / 8 * SECONDS, "the link was not filled"
    assert (tap["departed_packets"], tap["departed_bytes"]) == (root["packets"], root["bytes"])
    assert tap["dropped_packets"] == root["drops"]
    events = run.table("queue")["event"].cast(pl.String)
    for name, event in (("dropped_packets", "drop"), ("marked_packets", "mark")):
        assert tap[name] == run.counted(name) == (events == event).sum(), name


def check_flows(run: Run) -> None:
    """The flow tap knows every flow, and the quantities of many flows can be had."""
    flows = run.table("tcp_flows")
    assert flows.height == FLOWS
    # What is sent again after a timeout is not marked but dropped, where packets with ECN are marked: of an
    # unlucky flow nothing may arrive. Then the bottleneck dropped all that it sent in the window.
    unlucky = flows.filter(pl.col("bytes_acked") == 0)
    assert unlucky.height <= (1 if run.ecn else 0)
    label = pl.col("label").cast(pl.String)
    for name, sent, start, stop in unlucky.select(
        label, "data_packets_sent", "start_ns", "stop_ns"
    ).iter_rows():
        assert 0 < sent == run.dropped_between(name, start, stop), name
    assert set(run.per_flow("dropped_packets")) <= set(flows["label"].cast(pl.String))
    many = reader(run.directory, lab.Plan.read(run.directory / "plan.json"))()
    assert many is not None
    assert many.flows == FLOWS
    assert many.jain is not None
    # What stood in the queue at the beginning is acknowledged in the window: a little more than all may be.
    assert 0.7 < (many.utilisation or 0) < 1.01
    if many.drops:
        assert many.drop_burstiness is not None


@pytest.mark.parametrize(
    ("queue", "shaper"),
    [(queue, "own_shaper()" if queue.startswith("cake") else "htb()") for queue in QUEUES]
    + [(queue, 'tbf(burst="5 KB")') for queue in ("pfifo(limit=60)", "fq_codel(ecn=False)", "hhf(limit=60)")],
)
def test_every_queue_carries_many_flows_and_drops_what_tc_says(
    tmp_path: Path, queue: str, shaper: str
) -> None:
    run = Run(tmp_path, queue, ecn=False, shaper=shaper)
    check_counts(run)
    check_flows(run)
    assert run.hop["tap"]["dropped_packets"] > 0
    assert run.hop["tap"]["marked_packets"] == 0, "nothing may be marked"


@pytest.mark.parametrize("queue", MARKING)
def test_every_aqm_that_marks_marks_what_tc_says_and_the_senders_hear_of_it(
    tmp_path: Path, queue: str
) -> None:
    run = Run(tmp_path, queue, ecn=True, shaper="own_shaper()" if queue.startswith("cake") else "htb()")
    check_counts(run)
    check_flows(run)
    marked, dropped = run.per_flow("marked_packets"), run.per_flow("dropped_packets")
    assert sum(marked.values()) == run.hop["tap"]["marked_packets"] > 0
    word = MARKING[queue]
    if word is None:
        ours, theirs = run.marks_of_sampler()
        assert ours == theirs
    else:
        # CHOKe marks what arrives, and may drop it when a later packet matches it.
        assert run.hop["tap"]["marked_packets"] + run.marked_and_dropped == run.marks_of_tc(word)
        assert run.marked_and_dropped == 0 or queue.startswith("choke")
    # Whose SYN was lost opens without ECN (net.ipv4.tcp_ecn_fallback); others cannot be without it.
    flows = run.table("tcp_flows").with_columns(pl.col("label").cast(pl.String))
    with_ecn = set(flows.filter(pl.col("ecn"))["label"])
    assert len(with_ecn) >= FLOWS // 2
    assert all(marked[label] == 0 for label in set(marked) - with_ecn)
    # The sender reduces its window once for all marks of a round trip. The echo goes on until a packet with
    # CWR has arrived, so a reduction more for each of these that may have been lost.
    # An echo that comes while the window is being reduced for a loss is answered by that.
    numbers = dict(flows.select("label", "flow").iter_rows())
    events = run.table("tcp_events").with_columns(pl.col("kind").cast(pl.String))
    for label in with_ecn:
        own = events.filter(flow=numbers[label])
        cwrs, marks = own.filter(kind="cwr").height, run.marks_of(label)
        assert len(marks) == marked.get(label, 0)
        assert cwrs <= len(marks) + dropped.get(label, 0), label
        assert marks or not cwrs, label
        if marks and not cwrs:
            others = own.filter(pl.col("kind").is_in(["recovery", "timeout"]))["t_ns"]
            for mark in marks:
                assert others.is_between(mark - ROUND_TRIP_NS, mark + ROUND_TRIP_NS).any(), (label, mark)
