"""From raw files to tables and a verdict: what makes a run count, and what makes it fail."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from store_fakes import AGENT, KERNEL, default_records, make_plan, packet_record, plan_dict, write_raw

import narrows
from narrows.engine.types import Carried, EngineInfo, Finished, RunFacts, RunFault
from narrows.errors import NarrowsError, StoreError
from narrows.plan.identity import run_id
from narrows.plan.model import Plan
from narrows.store import tap
from narrows.store.ingest import ingest
from narrows.store.results import Results

ROOT = {"kind": "htb", "root": True, "drops": 0, "qlen": 0, "backlog": 0}
CARRIED = Carried(None, 1.5, 0, 100 << 20, 1.4, {"landlock_abi": 7})


def ingested(
    base: Path,
    plan: Plan | None = None,
    records: list[bytes] | None = None,
    carried: Carried = CARRIED,
    edit: Any = None,
    has_tap: bool = True,
    **changes: Any,
) -> tuple[Path, Finished]:
    """One run below `base` under its real id."""
    plan = plan or make_plan()
    run = run_id(plan, kernel=KERNEL, agent=AGENT)
    directory = base / run
    write_raw(directory / "raw", plan, records, **changes)
    (directory / "plan.json").write_text(plan.to_json())
    if edit is not None:
        edit(directory / "raw")
    return directory, ingest(
        directory, RunFacts(run, EngineInfo("fake", KERNEL, AGENT, has_tap=has_tap), carried)
    )


def edited(path: Path, change: Any) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def test_a_good_run_becomes_tables_and_a_manifest(tmp_path: Path) -> None:
    directory, finished = ingested(tmp_path)
    assert finished.error is None
    assert finished.virtual_s == 2.0
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["status"] == "ok"
    assert [check["verdict"] for hop in manifest["conservation"] for check in hop["checks"]] == ["ok"] * 8
    assert manifest["rows"]["queue"] == pl.read_parquet(directory / "queue.parquet").height
    assert not (directory / "raw" / "tap.bin").exists()
    assert manifest["resources"]["packets"] == 7


def test_queue_rows_hold_all_that_the_tap_held(tmp_path: Path) -> None:
    directory, _ = ingested(tmp_path)
    queue = pl.read_parquet(directory / "queue.parquet")
    by_event = dict(queue.group_by(pl.col("event").cast(pl.String)).len().rows())
    assert by_event == {"arrive": 7, "depart": 5, "drop": 1, "mark": 1}


@pytest.mark.parametrize(
    ("name", "at", "value", "told"),
    [
        ("packets", ("tc_after", "router", "eth0", "qdisc", 0, "packets"), 99, "tc -s of the root qdisc"),
        ("bytes", ("tc_after", "router", "eth0", "qdisc", 0, "bytes"), 99, "departed_bytes"),
        ("drops", ("tc_after", "router", "eth0", "qdisc", 0, "drops"), 7, "dropped_packets 1 ≠ 7"),
        ("links", ("links_after", "router", "eth1", "rx_packets"), 99, "received on ingress"),
        ("tap totals", ("hops", 0, "tap", "departed_packets"), 99, "records = totals"),
        ("balance", ("hops", 0, "tap", "arrived_packets"), 99, "arrived = departed"),
        ("marks", ("hops", 0, "tap", "marked_packets"), 0, "marked_packets 1 ≠ 0"),
        ("no tc", ("tc_after", "router", "eth0", "qdisc"), [], "no root qdisc"),
        ("no link", ("links_after", "router"), {}, "no counters of eth1"),
    ],
)
def test_a_packet_lost_from_sight_fails_the_run(
    tmp_path: Path, name: str, at: tuple[Any, ...], value: Any, told: str
) -> None:
    def change(result: Any) -> None:
        for step in at[:-1]:
            result = result[step]
        result[at[-1]] = value

    directory, finished = ingested(tmp_path, edit=lambda raw: edited(raw / "result.json", change))
    assert finished.error is not None
    assert finished.error.stage == "conservation"
    assert told in finished.error.message
    assert not (directory / "metrics.parquet").exists()
    assert json.loads((directory / "manifest.json").read_text())["status"] == "failed"


def multicast(packets: int, forwarded: int) -> Callable[[Any], None]:
    """Packets more that the router's links received towards the downstream queue, and its IPv4 counters."""

    def change(result: Any) -> None:
        result["links_after"]["router"]["eth1"]["rx_packets"] += packets
        result["ip_before"] = {"router": {"InReceives": 3, "ForwDatagrams": 2}}
        result["ip_after"] = {
            "router": {"InReceives": 3 + forwarded + packets, "ForwDatagrams": 2 + forwarded}
        }

    return change


def test_what_a_router_receives_and_does_not_forward_is_counted_as_that(tmp_path: Path) -> None:
    directory, finished = ingested(
        tmp_path, edit=lambda raw: edited(raw / "result.json", multicast(4, forwarded=7))
    )
    assert finished.error is None
    checks = json.loads((directory / "manifest.json").read_text())["conservation"][0]["checks"]
    assert checks[-1]["note"] == (
        "4 received and not forwarded, by the node's own counts (multicast, answers, probes and the like)"
    )
    assert checks[-1]["left"] == checks[-1]["right"]


@pytest.mark.parametrize(("sent", "is_ok"), [(4, True), (3, False)])
def test_what_the_router_sends_itself_is_counted_as_that(tmp_path: Path, sent: int, is_ok: bool) -> None:
    def change(result: Any) -> None:
        multicast(-4, forwarded=7)(result)  # four packets more left than came in
        result["ip_after"]["router"]["InReceives"] += 4
        result["ip_before"]["router"]["OutRequests"] = 10
        result["ip_after"]["router"]["OutRequests"] = 10 + sent

    _, finished = ingested(tmp_path, edit=lambda raw: edited(raw / "result.json", change))
    assert (finished.error is None) == is_ok, finished.error


def test_a_packet_that_the_router_forwarded_and_no_queue_saw_fails_the_run(tmp_path: Path) -> None:
    def change(result: Any) -> None:
        multicast(4, forwarded=7)(result)
        result["ip_after"]["router"]["ForwDatagrams"] += 1  # of the four, one was sent on

    _, finished = ingested(tmp_path, edit=lambda raw: edited(raw / "result.json", change))
    assert finished.error is not None
    assert "received on ingress" in finished.error.message


def test_a_queue_that_no_packet_reached_fails_the_check(tmp_path: Path) -> None:
    _, finished = ingested(tmp_path, records=[packet_record(0, 5, 5)])
    assert finished.error is not None
    assert "hop bottleneck up" in finished.error.message
    assert "nothing to check" in finished.error.message


def test_without_a_tap_only_the_links_are_checked_and_the_rest_says_why(tmp_path: Path) -> None:
    def change(result: Any) -> None:
        for hop in result["hops"]:
            hop["tap"] = None

    def edit(raw: Path) -> None:
        edited(raw / "result.json", change)
        (raw / "tap.bin").unlink()

    directory, finished = ingested(tmp_path, plan=make_plan(tap="off"), edit=edit)
    assert finished.error is None
    checks = json.loads((directory / "manifest.json").read_text())["conservation"][0]["checks"]
    assert [c["verdict"] for c in checks] == ["not checked"] * 3 + ["ok"]
    assert all("tap off" in c["note"] for c in checks[:3])


def test_a_tap_that_the_plan_wants_and_the_engine_had_must_be_there(tmp_path: Path) -> None:
    _, finished = ingested(tmp_path, edit=lambda raw: (raw / "tap.bin").unlink())
    assert finished.error is not None
    assert "no tap.bin" in finished.error.message


def test_an_engine_with_half_a_tap_keeps_what_is_true_and_says_what_it_does_not_know(tmp_path: Path) -> None:
    def change(result: Any) -> None:
        down, up = result["hops"]
        down["tap"]["marked_packets"] = None
        up["tap"], up["tap_note"] = None, "no such trace event"

    down = [packet_record(0, 5, 10, flow=tap.UNKNOWN_FLOW), packet_record(0, 6, 10, flow=tap.UNKNOWN_FLOW)]
    directory, finished = ingested(
        tmp_path,
        records=down,
        edit=lambda raw: edited(raw / "result.json", change),
        has_tap=False,
        links_after={"router": {"eth0": {"rx_packets": 5}, "eth1": {"rx_packets": 7}}},
        links_before={"router": {"eth0": {"rx_packets": 4}, "eth1": {"rx_packets": 5}}},
        tc_after={"router": {"eth0": {"qdisc": [ROOT | {"packets": 2, "bytes": 3028}]},
                             "eth1": {"qdisc": [ROOT | {"packets": 1, "bytes": 66}]}}},
    )  # fmt: skip
    assert finished.error is None
    assert finished.warnings == ("hop bottleneck up: no tap: no such trace event",)
    checks = [hop["checks"] for hop in json.loads((directory / "manifest.json").read_text())["conservation"]]
    assert [c["verdict"] for c in checks[0]] == ["ok"] * 4
    assert [c["verdict"] for c in checks[1]] == ["not checked"] * 3 + ["ok"]
    assert all(c["note"] == "no such trace event" for c in checks[1][:3])
    assert pl.read_parquet(directory / "queue.parquet")["flow"].null_count() == 4


def test_a_rig_that_is_not_calibrated_fails_the_run(tmp_path: Path) -> None:
    calibration = {"rtt_median_ns": 3, "ok": False, "problems": ["base RTT 3 ns, planned 10 ms"]}
    _, finished = ingested(tmp_path, calibration=calibration)
    assert finished.error == RunFault("calibration", "base RTT 3 ns, planned 10 ms")


def test_a_run_without_any_calibration_fails(tmp_path: Path) -> None:
    _, finished = ingested(tmp_path, calibration=None)
    assert finished.error is not None
    assert finished.error.stage == "calibration"


def test_an_agents_error_is_told_with_node_command_and_stderr(tmp_path: Path) -> None:
    error = {"stage": "setup", "node": "router", "item": None,
             "command": "tc qdisc add dev eth0 root fq_codle",
             "message": "tc failed", "stderr": "Error: Unknown qdisc.", "exit_code": 2}  # fmt: skip
    directory, finished = ingested(tmp_path, status="failed", error=error)
    assert finished.error is not None
    line = finished.error.line()
    for part in ("setup", "router", "fq_codle", "Unknown qdisc"):
        assert part in line
    assert json.loads((directory / "manifest.json").read_text())["error"]["exit_code"] == 2


def test_no_result_is_an_error(tmp_path: Path) -> None:
    _, finished = ingested(tmp_path, edit=lambda raw: (raw / "result.json").unlink())
    assert finished.error is not None
    assert "no result" in finished.error.message


def test_half_a_result_is_an_error(tmp_path: Path) -> None:
    _, finished = ingested(tmp_path, edit=lambda raw: (raw / "result.json").write_text('{"format": 1, "sta'))
    assert finished.error is not None
    assert "does not fit" in finished.error.message


def test_what_the_engine_saw_comes_before_what_the_agent_says(tmp_path: Path) -> None:
    fault = RunFault("watchdog", "hung")
    _, finished = ingested(tmp_path, carried=Carried(fault, 1.0, 0, 1, 1.0, {}))
    assert finished.error == fault


def test_a_tool_that_prints_garbage_fails_its_run_with_file_and_line(tmp_path: Path) -> None:
    _, finished = ingested(tmp_path, edit=lambda raw: (raw / "probe.csv").write_text("Segmentation fault\n"))
    assert finished.error is not None
    assert finished.error.stage == "store"
    assert "raw/probe.csv:1" in finished.error.message


def test_a_missing_file_of_an_item_that_ran_is_an_error(tmp_path: Path) -> None:
    _, finished = ingested(tmp_path, edit=lambda raw: (raw / "cross.flows.csv").unlink())
    assert finished.error is not None
    assert "raw/cross.flows.csv is missing" in finished.error.message


def test_what_the_guests_kernel_warns_of_is_a_warning_of_the_run(tmp_path: Path) -> None:
    warning = "run_ahead: a timer was set behind its back before 7 ns: no more stretches"

    def say(raw: Path) -> None:
        lines = ["[    0.000000] Linux version 7.2", f"[    1.500000] {warning}"]
        lines += ["WARNING: net/core/dev.c:1 at f()", "NO WARNING: 1"]
        raw.with_name("console.log").write_text("\n".join(lines))

    directory, finished = ingested(tmp_path, edit=say)
    assert finished.error is None
    assert finished.warnings == (
        f"the guest's kernel: [    1.500000] {warning}",
        "the guest's kernel: WARNING: net/core/dev.c:1 at f()",
    )
    assert json.loads((directory / "manifest.json").read_text())["warnings"] == list(finished.warnings)


def test_a_program_that_the_guest_ended_for_lack_of_memory_fails_the_run(tmp_path: Path) -> None:
    line = "[   15.660000] Out of memory: Killed process 42 (python) total-vm:395656kB, anon-rss:123548kB"
    say = lambda raw: raw.with_name("console.log").write_text(f"{line}\n")  # noqa: E731
    _, finished = ingested(tmp_path, edit=say)
    assert finished.error is not None
    assert finished.error.stage == "memory"
    assert "its kernel ended python → machine(memory=" in finished.error.message


def test_a_guest_that_had_no_memory_left_fails_the_run(tmp_path: Path) -> None:
    lines = [
        "[    4.044000] narrows-agent invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP)",
        "[    4.044000] Kernel panic - not syncing: Out of memory: system-wide panic_on_oom is enabled",
    ]
    _, finished = ingested(
        tmp_path, edit=lambda raw: raw.with_name("console.log").write_text("\n".join(lines))
    )
    assert finished.error is not None
    assert finished.error.stage == "memory"
    assert "narrows-agent asked for more → machine(memory=" in finished.error.message


def test_big_text_files_are_compressed_without_loss(tmp_path: Path) -> None:
    row = "{},{},{},{}\n"
    text = "seq,sent_ns,server_ns,received_ns\n" + "".join(
        row.format(i, i * 10**6, i * 10**6 + 5, i * 10**6 + 9) for i in range(20_000)
    )
    directory, finished = ingested(tmp_path, edit=lambda raw: (raw / "probe.csv").write_text(text))
    assert finished.error is None
    import gzip

    assert gzip.decompress((directory / "raw" / "probe.csv.gz").read_bytes()).decode() == text
    assert not (directory / "raw" / "probe.csv").exists()


def test_ingesting_the_same_raw_files_twice_gives_equal_tables(tmp_path: Path) -> None:
    first, _ = ingested(tmp_path / "a")
    second, _ = ingested(tmp_path / "b")
    for name in ("metrics", "samples", "queue", "sojourn", "flows"):
        assert (first / f"{name}.parquet").read_bytes() == (second / f"{name}.parquet").read_bytes()


@pytest.fixture
def results(tmp_path: Path) -> Results:
    out = tmp_path / "out"
    for seed in (1, 2):
        ingested(out, make_plan(seed=seed, queue="fq_codel" if seed == 2 else "pfifo"))
    ingested(out / ".failed", make_plan(seed=3), calibration=None)
    (out / ".tmp-dead-1").mkdir()
    (out / "no-run-of-ours").mkdir()
    return narrows.open(out)


def test_runs_have_a_column_for_each_axis_and_failed_ones_say_why(results: Results) -> None:
    runs = results.runs().sort("seed")
    assert runs["queue"].to_list() == ["pfifo", "fq_codel", "pfifo"]
    assert runs["status"].to_list() == ["ok", "ok", "failed"]
    assert runs["error"].to_list()[2] == "calibration: the agent did not calibrate the rig"
    assert runs["plan_seed"].to_list() == [1, 2, 3]
    assert runs["base_rtt_ns"].to_list() == [10_000_000] * 3


def test_tables_hold_whole_runs_only(results: Results) -> None:
    assert results.metrics(quantity="tap_dropped", hop="bottleneck", direction="down").filter(
        pl.col("item").is_null()
    )["value"].to_list() == [1, 1]
    assert results.queue()["run_id"].n_unique() == 2
    assert results.flows(direction="up").height == 2
    assert results.samples(item="probe", quantity="rtt")["value"].to_list() == [10.1e6, None, 10.1e6, None]


def test_without_pandas_a_frame_of_it_is_refused_in_one_line(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "narrows.store.pandas_frames", raising=False)
    with pytest.raises(NarrowsError, match=r"Pandas frames: .*pyarrow") as refused:
        narrows.open(results.directory, frames="pandas")
    assert "pip install 'narrows[pandas]'" in str(refused.value.remedy)


def test_pandas_frames_hold_what_polars_frames_do_and_missing_stays_missing(results: Results) -> None:
    pandas = narrows.open(results.directory, frames="pandas")
    for name in ("runs", "metrics", "samples", "queue", "sojourn", "flows"):
        ours, theirs = getattr(results, name)(), getattr(pandas, name)()
        assert list(theirs.columns) == ours.columns
        assert len(theirs) == ours.height > 0
        for column in ours.columns:
            missing = theirs[column].isna().to_list()
            assert missing == ours[column].is_null().to_list(), (name, column)
            values = [None if gone else value for gone, value in zip(missing, theirs[column], strict=True)]
            assert values == ours[column].to_list(), (name, column)
    queue = pandas.queue(event="arrive")
    assert queue["t_ns"].dtype == "Int64"
    assert repr(pandas).startswith("<results as Pandas frames, in ")
    assert queue["sojourn_ns"].dtype == "Int64"  # all missing, and still whole numbers
    assert pandas.sql("select count(*) as n from runs")["n"].to_list() == [3]
    with pytest.raises(NarrowsError, match="frames='panda'"):
        narrows.open(results.directory, frames="panda")  # type: ignore[call-overload]


def test_an_unknown_column_in_a_filter_is_an_error_with_the_nearest(results: Results) -> None:
    with pytest.raises(StoreError, match="did you mean item"):
        results.metrics(itm="x")


def test_sql_sees_all_tables_and_joins_them(results: Results) -> None:
    frame = results.sql(
        "select queue, value from metrics join runs using (run_id) "
        "where quantity = 'bulk_goodput_bps' and item = 'cross' and flow is null order by queue"
    )
    assert frame.rows() == [("fq_codel", 10e6), ("pfifo", 10e6)]  # 2.5 MB acknowledged in 2 s
    for table in ("runs", "metrics", "samples", "queue", "sojourn", "flows"):
        assert results.sql(f"select count(*) as n from {table}")["n"][0] > 0


def test_sql_keeps_null_and_integers(results: Results) -> None:
    frame = results.sql("select sum(bytes) as total, null as nothing, min(sojourn_ns) as s from queue")
    assert frame["total"].to_list() == [
        2 * (10 * 1514 + 2 * (106 + 66))
    ]  # arrivals 5, departures 3, drop, mark; two small ones
    assert frame["nothing"].to_list() == [None]


@pytest.mark.parametrize(
    "statement",
    ["copy (select 1) to '{}/x.csv'", "select * from read_text('/etc/hostname')", "attach '{}/x.db' as x",
     "set enable_external_access=true"],
)  # fmt: skip
def test_a_query_can_neither_write_nor_read_elsewhere(results: Results, statement: str) -> None:
    with pytest.raises(StoreError):
        results.query(statement.format(results.directory))
    assert not list(results.directory.glob("x.*"))


def test_a_wrong_query_is_one_clear_error(results: Results) -> None:
    with pytest.raises(StoreError, match=r"docs/data\.md"):
        results.query("select nothing from nowhere")


def test_a_run_is_found_by_the_beginning_of_its_id(results: Results) -> None:
    run = results.run_ids[0]
    assert results.find(run[:6]) == run
    with pytest.raises(StoreError, match="no run zz"):
        results.find("zz")


def test_an_empty_directory_has_empty_tables(tmp_path: Path) -> None:
    results = narrows.open(tmp_path)
    assert results.runs().height == 0
    assert results.metrics().height == 0
    assert results.sql("select count(*) as n from queue")["n"].to_list() == [0]


def test_no_directory_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="narrows run"):
        narrows.open(tmp_path / "nothing")


def test_an_axis_named_like_a_column_keeps_both(tmp_path: Path) -> None:
    key = {"engine": "a", "rate": "10Mbit"}
    ingested(tmp_path, Plan.from_json(json.dumps(plan_dict() | {"key": key})))
    runs = narrows.open(tmp_path).runs()
    assert runs["key_engine"].to_list() == ["a"]
    assert runs["engine"].to_list() == ["fake"]


def test_records_of_other_hops_are_not_mixed_in(tmp_path: Path) -> None:
    directory, _ = ingested(tmp_path, records=default_records())
    flows = pl.read_parquet(directory / "flows.parquet")
    assert flows.filter(pl.col("direction") == "up")["departed_bytes"].to_list() == [66]


def test_a_flow_has_its_item_at_every_hop_that_meets_it(tmp_path: Path) -> None:
    """The tap writes a flow's ends once, at the hop that meets it first (flow_of in queue_tap.c)."""
    records = default_records()
    # The way up meets flow 1 of the way down, as a home's second router does.
    records.append(packet_record(1, 6_000_000, 100))
    records = [each for each in records if not (each[0] == 1 and each[1] == 1)]
    directory, finished = ingested(tmp_path, records=records)
    assert finished.error is None
    flows = pl.read_parquet(directory / "flows.parquet").filter(pl.col("flow") == 1)
    assert flows["item"].cast(pl.String).to_list() == ["cross", "cross"]
    assert flows["label"].unique().to_list() == ["tcp 10.0.2.1:40000>10.0.0.1:5201"]
    metrics = pl.read_parquet(directory / "metrics.parquet")
    assert metrics.filter(item="cross", hop="bottleneck", direction="up").height


LIMIT = {"stage": "limit", "node": None, "item": "cross", "command": None, "message": "still running",
         "stderr": None, "exit_code": None}  # fmt: skip


def failed_at_its_limit(tmp_path: Path, **changes: Any) -> tuple[Path, Finished]:
    return ingested(tmp_path / ".failed", make_plan(seed=4), status="failed", error=LIMIT, **changes)


def test_what_was_measured_until_a_run_failed_is_kept_and_only_who_asks_reads_it(tmp_path: Path) -> None:
    ingested(tmp_path, make_plan(seed=1))
    directory, finished = failed_at_its_limit(tmp_path)
    assert finished.error is not None
    assert finished.error.stage == "limit"
    run = directory.name
    results = narrows.open(tmp_path)
    for table in (results.metrics(), results.samples(), results.queue(), results.flows(), results.sojourn()):
        assert run not in table["run_id"].cast(pl.String).to_list()
        assert table.height
    assert results.sql(f"select * from metrics where run_id = '{run}'").height == 0
    kept = results.failed()
    assert kept.run_ids == [run]
    assert kept.metrics()["run_id"].cast(pl.String).unique().to_list() == [run]
    # Its tap and probe are as in the whole run: two probes, of which one came back.
    assert kept.samples(item="probe", quantity="rtt").height == 2
    assert kept.sql("select count(*) n from queue")["n"].to_list() == [results.queue().height]
    assert kept.runs().height == 2  # `runs` has all, with their status


def test_a_file_that_was_cut_off_when_the_run_failed_is_a_warning(tmp_path: Path) -> None:
    directory, _ = failed_at_its_limit(tmp_path, edit=lambda raw: (raw / "cross.flows.csv").unlink())
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["error"]["message"].startswith("still running")
    assert any(warning.startswith("cross: cut off when the run failed") for warning in manifest["warnings"])
    assert narrows.open(tmp_path).failed().samples(item="probe").height > 0


def test_a_failed_run_whose_rig_was_not_right_has_no_tables(tmp_path: Path) -> None:
    directory, _ = failed_at_its_limit(tmp_path, calibration=None)
    assert list(directory.glob("*.parquet")) == []
    lost = [*default_records(), packet_record(0, 3_000_000, 0)]

    def one_more(raw: Path) -> None:
        (raw / "tap.bin").write_bytes(b"".join(lost))  # a packet that neither tc nor the agent counted

    directory, _ = failed_at_its_limit(tmp_path, edit=one_more)
    assert list(directory.glob("*.parquet")) == []
    (warning,) = json.loads((directory / "manifest.json").read_text())["warnings"]
    assert warning.startswith("of this failed run no table could be kept: ")
