"""One small experiment through the whole: every command, the report, and what the tables hold."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import lab
from narrows.store import results

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

TEXT = """
queue = axis("queue", {"pfifo": pfifo(limit=40), "fq_codel": fq_codel(limit=60)})
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=queue)
flow = bulk(cca="cubic", flows=2, duration="2 s")
back = bulk(cca="reno", direction="up", duration="2 s")
probe = udp_probe(stop=with_(flow))
at_router = capture("bottleneck-down")
beyond = capture("path:eth1", snap="64 B", start="500 ms", stop="1500 ms")
"""


@dataclass(frozen=True)
class Whole:
    """The experiment, run once for all tests of this module."""

    cwd: Path
    said: str

    @property
    def out(self) -> Path:
        return self.cwd / "results/tiny"

    @property
    def runs(self) -> list[Path]:
        return lab.run_dirs(self.out)

    def call(self, *words: str | Path) -> lab.Called:
        return lab.narrows(*words, cwd=self.cwd)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    cwd = tmp_path_factory.mktemp("whole")
    lab.experiment(cwd, TEXT)
    return Whole(cwd, lab.narrows("run", "tiny.py", cwd=cwd).ok().out)


def query(whole: Whole, sql: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = json.loads(
        whole.call("query", whole.out, sql, "--format", "json").ok().out
    )
    return answer


# ---- the commands -----------------------------------------------------------------------------------------


def test_plan_prints_every_run_and_touches_nothing(tmp_path: Path) -> None:
    lab.experiment(tmp_path, TEXT)
    short = lab.narrows("plan", "tiny.py", cwd=tmp_path).ok().out
    assert "2 runs" in short
    assert "Does it hold?" in short
    assert [p.name for p in tmp_path.iterdir()] == ["tiny.py"]


def test_plan_shows_the_very_commands_that_were_carried_out(whole: Whole) -> None:
    shown = whole.call("plan", "tiny.py", "-v").ok().out
    for run in whole.runs:
        steps = lab.Plan.read(run / "plan.json").setup
        commands = [step.command() for step in steps if step.tool in ("tc", "ip")]
        assert len(commands) > 20
        for command in commands:
            assert command in shown, command


def test_the_plans_that_are_printed_are_those_that_were_stored(whole: Whole) -> None:
    printed = [json.loads(line) for line in whole.call("plan", "tiny.py", "--json").ok().out.splitlines()]
    stored = [json.loads((run / "plan.json").read_text()) for run in whole.runs]
    assert sorted(map(json.dumps, printed)) == sorted(map(json.dumps, stored))


def test_run_says_what_it_did_and_does_nothing_twice(whole: Whole) -> None:
    assert "2 made, 0 failed" in whole.said
    before = {path: path.stat().st_mtime_ns for path in whole.out.rglob("*") if path.is_file()}
    again = whole.call("run", "tiny.py").ok().out
    assert "nothing to do" in again
    after = {path: path.stat().st_mtime_ns for path in before}
    changed = [path.name for path in before if before[path] != after[path]]
    assert set(changed) <= {".lock"}


def test_only_chooses_runs(tmp_path: Path) -> None:
    lab.experiment(tmp_path, TEXT)
    lab.narrows("run", "tiny.py", "--only", "queue=pfifo", "--out", "out", cwd=tmp_path).ok()
    (run,) = lab.run_dirs(tmp_path / "out")
    assert lab.manifest(run)["key"]["queue"] == "pfifo"


def test_list_and_show_tell_of_every_run(whole: Whole) -> None:
    listed = whole.call("list", whole.out).ok().out
    assert "results/tiny" in whole.call("list").ok().out
    for run in whole.runs:
        assert run.name in listed
        shown = whole.call("show", run.name[:8]).ok().out
        for word in ("calibrated ok", "conserved", "sojourn_p99_ms", lab.manifest(run)["key"]["queue"]):
            assert word in shown, word


def test_query_answers_in_every_format(whole: Whole) -> None:
    sql = "select queue, count(*) as n from runs group by queue order by queue"
    wanted = [("fq_codel", "1"), ("pfifo", "1")]
    rows = list(csv.DictReader(io.StringIO(whole.call("query", whole.out, sql, "--format", "csv").ok().out)))
    assert [(row["queue"], row["n"]) for row in rows] == wanted
    assert [(row["queue"], str(row["n"])) for row in query(whole, sql)] == wanted
    table = whole.call("query", whole.out, sql).ok().out
    assert "fq_codel" in table
    for wrong in (
        "select nothing from runs",
        "drop table runs",
        "copy runs to 'x.csv'",
        "select * from 'tiny.py'",
    ):
        called = whole.call("query", whole.out, wrong).failed()
        assert called.err.startswith("error: "), called.err
    assert not (whole.cwd / "x.csv").exists()


def test_diff_names_what_differs(whole: Whole) -> None:
    one, other = (run.name for run in whole.runs)
    shown = whole.call("diff", one, other).ok().out
    assert "pfifo limit 40" in shown
    assert "fq_codel limit 60" in shown
    same = whole.call("diff", one, one).ok().out
    assert "pfifo limit 40" not in same


def test_claims_judges_nothing_from_runs_that_are_not_of_its_experiments(whole: Whole) -> None:
    told = whole.call("claims", "--results", whole.out).ok().out
    for number in range(1, 12):
        assert f"R{number} " in told
    assert "not measured" in told
    assert not re.search(r"│ (holds|holds in part|does not hold here) +│", told)


# ---- the report -------------------------------------------------------------------------------------------


def test_the_report_is_one_file_that_loads_nothing_and_every_figure_is_png_and_pdf(whole: Whole) -> None:
    said = whole.call("report", whole.out, "--figures").ok().text
    html = (whole.out / "report/report.html").read_text()
    marked_up = re.sub(r"(?s)(<script\b[^>]*>).*?</script>", r"\1</script>", html)
    loads = re.findall(r"""(?:src|href|data|poster|action)\s*=\s*["']?([^"'\s>]+)""", marked_up)
    assert loads, "a report without a single figure"
    outside = [x for x in loads if not x.startswith(("data:", "#"))]
    links = re.findall(r"""<a\s[^>]*href=["']([^"']+)""", html)
    assert [x for x in outside if x not in links] == []
    assert re.findall(r"""url\(\s*["']?(?!data:|#)[^)]*\)|@import""", html) == []
    assert "<script src" not in html
    for word in ("Does it hold?", "tc qdisc add", "htb"):
        assert word in html, word
    for run in whole.runs:
        assert run.name in html, "figures name their runs"
    figures = whole.out / "report/figures"
    stems = {path.stem for path in figures.iterdir()}
    # Without a speed test, the experiment's own flows are what is drawn, both ways.
    assert stems == {"side_by_side", "topology", "distributions"}
    assert "Time in the queue, upload" in html
    assert "while flow or back loaded that way" in html
    assert "paper_fig" not in html
    for stem in stems:
        assert (figures / f"{stem}.png").read_bytes().startswith(b"\x89PNG"), stem
        assert (figures / f"{stem}.pdf").read_bytes().startswith(b"%PDF"), stem
        assert min((figures / f"{stem}{suffix}").stat().st_size for suffix in (".png", ".pdf")) > 2000, stem
    assert f"{len(stems)} figures" in said


# ---- the tables -------------------------------------------------------------------------------------------


def test_python_gives_the_tables_as_frames(whole: Whole) -> None:
    found = results.open(whole.out)
    assert found.runs().height == 2
    frame = found.queue(direction="down")
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns[:5] == ["run_id", "hop", "direction", "t_ns", "event"]
    assert found.sql("select count(*) as n from samples")["n"][0] > 100


def packets(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """(time in ns, length on the wire, bytes kept) of each packet of a pcapng file, read without our code."""
    content, at = path.read_bytes(), 0
    nanoseconds = False
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert length % 4 == 0, "a broken block"
        assert length == struct.unpack_from("<I", content, at + length - 4)[0], "a broken block"
        body = content[at + 8 : at + length - 4]
        if kind == 1:
            nanoseconds = struct.pack("<HHB", 9, 1, 9) in body
        elif kind == 6:
            assert nanoseconds, "stamps are not in nanoseconds"
            _, high, low, kept, wire = struct.unpack_from("<IIIII", body)
            yield (high << 32) + low, wire, body[20 : 20 + kept]
        at += length


def test_the_queue_table_is_what_a_capture_at_the_bottleneck_saw(whole: Whole) -> None:
    for run in whole.runs:
        wall_ns = lab.Plan.read(run / "plan.json").wall_clock_ns
        epoch_ns = lab.Plan.read(run / "plan.json").epoch_monotonic_ns
        seen = [
            (t - wall_ns - epoch_ns, length)
            for t, length, head in packets(run / "raw/at_router.pcapng")
            if head[12:14] == b"\x08\x00" and head[30:34] == bytes([10, 0, 0, 1])  # IPv4 to the client
        ]
        assert len(seen) > 1000
        table = results.open(whole.out).queue(run_id=run.name, direction="down", event="depart")
        left = table.filter(pl.col("t_ns") >= 0).sort("t_ns", maintain_order=True)
        # A capture ends with the traffic, the tap when queues are empty: resets of flows may come between.
        over_ns = max(item["end_ns"] for item in lab.manifest(run)["items"].values())
        assert left["t_ns"].slice(len(seen)).min() is None or left["t_ns"].slice(len(seen)).min() > over_ns
        left = left.head(len(seen))
        assert left["bytes"].to_list() == [length for _, length in seen]
        apart = np.abs(left["t_ns"].to_numpy() - np.array([t for t, _ in seen]))
        assert apart.max() <= 1000, f"stamps are up to {apart.max()} ns apart"


def test_a_capture_is_at_any_interface_from_when_to_when_and_keeps_as_much_as_asked_for(whole: Whole) -> None:
    for run in whole.runs:
        plan = lab.Plan.read(run / "plan.json")
        zero_ns = plan.wall_clock_ns + plan.epoch_monotonic_ns
        for name, snap in (("at_router", 96), ("beyond", 64)):
            seen = list(packets(run / f"raw/{name}.pcapng"))
            assert len(seen) > 500
            assert all(len(head) == min(length, snap) for _, length, head in seen), name
            assert max(length for _, length, _ in seen) == 1514
        times = [t - zero_ns for t, _, _ in seen]
        assert 0.5e9 <= min(times) < 0.6e9
        assert 1.4e9 < max(times) <= 1.5e9
        # Between path and server data comes undelayed and unshaped, and acknowledgements go back.
        sources = {head[26:30] for _, _, head in seen if head[12:14] == b"\x08\x00"}
        assert sources == {bytes([10, 0, 2, 1]), bytes([10, 0, 0, 1])}


def test_the_queue_table_adds_up_to_what_tc_counted(whole: Whole) -> None:
    rows = query(
        whole, "select run_id, direction, event, count(*) as n, sum(bytes) as b from queue group by all"
    )
    counted = {(row["run_id"], row["direction"], row["event"]): row for row in rows}
    for run in whole.runs:
        manifest = lab.manifest(run)
        for hop in manifest["taps"]:
            qdiscs = manifest["tc_after"][hop["node"]][hop["iface"]]["qdisc"]
            root = next(q for q in qdiscs if q.get("root"))
            of = {
                e: counted.get((run.name, hop["direction"], e), {"n": 0, "b": 0})
                for e in ("arrive", "depart", "drop")
            }
            assert (of["depart"]["n"], int(of["depart"]["b"])) == (root["packets"], root["bytes"])
            assert of["drop"]["n"] == root["drops"]
            assert of["arrive"]["n"] == of["depart"]["n"] + of["drop"]["n"] + root["qlen"]
    assert any(row["n"] for row in rows if row["event"] == "drop"), "no drop: nothing was tested"


def test_the_tables_hold_what_cannot_be_otherwise(whole: Whole) -> None:
    for name, sql in {
        "a sojourn below zero": "select count(*) as n from queue where sojourn_ns < 0",
        "a value that is no number": "select count(*) as n from metrics where isnan(value)",
        "a metric without a unit": "select count(*) as n from metrics where unit is null or unit = ''",
        "more than the rate": "select count(*) as n from samples where quantity = 'throughput_10ms' "
        "and hop = 'bottleneck' and item is null and flow is null and value > 10e6 + 8 * 1600 * 100 * 2",
        "a queue beyond its limit": "select count(*) as n from queue where backlog_packets > 60",
    }.items():
        assert query(whole, sql) == [{"n": 0}], name


def test_the_probes_rtt_is_base_rtt_and_queue(whole: Whole) -> None:
    """The same packets seen twice: by the probe, and by the tap in both directions."""
    sql = """select min(value) as least, max(value) as most from samples
             where item = 'probe' and quantity = 'rtt' and run_id = '{}'"""
    for run in whole.runs:
        (found,) = query(whole, sql.format(run.name))
        waits = {
            row["direction"]: row["most"]
            for row in query(
                whole,
                f"select direction, max(sojourn_ns) as most from queue where run_id = '{run.name}' "
                "and event = 'depart' and t_ns >= 0 group by direction",
            )
        }
        assert 20e6 <= found["least"] < 20.3e6
        assert found["most"] <= 20e6 + waits["down"] + waits["up"] + 0.4e6
