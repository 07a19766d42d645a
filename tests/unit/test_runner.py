"""The runner with guests that only write files: what is made, kept, linked, retried, stopped."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from store_fakes import AGENT, KERNEL, FakeEngine, make_plan, wait_for

from narrows.engine import layout, outdir
from narrows.engine.events import Done, Event, Planned, Reading, Skipped, Started, Stopped
from narrows.engine.runner import Runner
from narrows.engine.types import Finished, RunFacts, RunFault
from narrows.engine.work import duration_s, expected_work
from narrows.errors import EngineError, PlanError, StoreError
from narrows.plan.identity import plan_hash, run_id
from narrows.plan.items import Content
from narrows.plan.model import Plan
from narrows.store.ingest import ingest

PLANS = [make_plan(seed=seed) for seed in (1, 2, 3)]


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A directory without siblings: runs of pytest's own, side by side, would be linked."""
    alone = tmp_path / "results" / "alone"
    alone.mkdir(parents=True)
    return alone


def id_of(plan: Plan) -> str:
    return run_id(plan, kernel=KERNEL, agent=AGENT)


def all_of(runner: Runner) -> list[Event]:
    return list(runner.run())


def entries(out: Path) -> list[str]:
    return sorted(p.name for p in out.iterdir() if p.name != layout.LOCK)


def test_all_missing_runs_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    events = all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))
    assert events[0] == Planned(total=3, skipped=0, reused=0, to_do=3, slots=2)
    assert entries(tmp_path) == sorted(id_of(p) for p in PLANS)
    assert all(layout.is_whole(tmp_path / id_of(p)) for p in PLANS)
    kinds = [type(e) for e in events]
    assert kinds.count(Started) == kinds.count(Reading) == kinds.count(Done) == 3


class Lacking(FakeEngine):
    """A machine on which some plans cannot be made."""

    def __init__(self, *seeds: int) -> None:
        super().__init__()
        self.seeds = seeds

    def check(self, plans: list[Plan]) -> None:
        lacks = [str(plan.seed) for plan in plans if plan.seed in self.seeds]
        if lacks:
            raise EngineError(f"not installed: {', '.join(lacks)}", remedy="install it")


def test_what_one_run_lacks_is_no_other_runs_affair(tmp_path: Path) -> None:
    engine = Lacking(2)
    events = all_of(Runner(engine, PLANS, tmp_path, ingest))
    assert [plan.seed for plan in engine.started] == [1, 3]
    (failed,) = [event for event in events if isinstance(event, Done) and event.status == "failed"]
    assert failed.plan.seed == 2
    assert failed.fault is not None
    assert failed.fault.line() == "machine: not installed: 2 → install it"
    assert (tmp_path / layout.FAILED / id_of(PLANS[1]) / layout.MANIFEST).exists()
    # It is there now.
    assert {type(event) for event in all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))} >= {Done}
    assert not (tmp_path / layout.FAILED / id_of(PLANS[1])).exists()


def test_where_no_run_can_be_made_nothing_begins(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="not installed: 1, 2, 3"):
        all_of(Runner(Lacking(1, 2, 3), PLANS, tmp_path, ingest))
    assert entries(tmp_path) == []


class CannotMake(FakeEngine):
    """Content of services cannot be made here."""

    def make(self, content: Content) -> None:
        raise EngineError(f"{content.about} cannot be made")


def test_content_that_cannot_be_made_is_missing_to_who_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path.parent / "cache"))
    served = Content(id="0" * 16, about="a film", commands=(("true",),), programs=())
    plans = [PLANS[0], PLANS[1].model_copy(update={"contents": (served,)})]
    engine = CannotMake()
    events = all_of(Runner(engine, plans, tmp_path, ingest))
    assert [plan.seed for plan in engine.started] == [1]
    (failed,) = [event for event in events if isinstance(event, Done) and event.status == "failed"]
    assert failed.fault is not None
    assert "a film cannot be made" in failed.fault.message


def test_a_second_call_does_nothing(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))
    engine = FakeEngine()
    events = all_of(Runner(engine, PLANS, tmp_path, ingest))
    assert engine.started == []
    assert events[0] == Planned(total=3, skipped=3, reused=0, to_do=0, slots=0)
    assert [type(e) for e in events[1:]] == [Skipped] * 3


def test_another_kernel_makes_all_runs_anew(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))
    engine = FakeEngine()
    object.__setattr__(engine.info, "kernel_id", "another")
    all_of(Runner(engine, PLANS, tmp_path, ingest))
    assert len(engine.started) == 3
    assert len(entries(tmp_path)) == 6


def test_longer_runs_start_first(tmp_path: Path) -> None:
    plans = [make_plan(seed=i, duration_s=d) for i, d in enumerate((2.0, 9.0, 4.0))]
    engine = FakeEngine(slots=1)
    all_of(Runner(engine, plans, tmp_path, ingest))
    assert [duration_s(p) for p in engine.started] == [9.0, 4.0, 2.0]


def test_expected_work_grows_with_time_and_rate() -> None:
    assert expected_work(make_plan(duration_s=20.0)) > expected_work(make_plan(duration_s=2.0))


def fail_second(plan: Plan, directory: Path, stop: threading.Event) -> RunFault | None:
    return RunFault("guest", "Kernel panic", stderr="…tail…") if plan.seed == 2 else None


def test_a_failed_run_is_kept_apart_and_does_not_stop_the_others(tmp_path: Path) -> None:
    events = all_of(Runner(FakeEngine(fail_second), PLANS, tmp_path, ingest))
    done = {e.run_id: e for e in events if isinstance(e, Done)}
    assert sorted(e.status for e in done.values()) == ["failed", "ok", "ok"]
    bad = id_of(PLANS[1])
    assert not (tmp_path / bad).exists()
    manifest = json.loads((tmp_path / ".failed" / bad / "manifest.json").read_text())
    assert manifest["error"]["message"] == "Kernel panic"
    assert manifest["error"]["stderr"] == "…tail…"


def test_a_failed_run_is_tried_again_and_its_failure_forgotten(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(fail_second), PLANS, tmp_path, ingest))
    engine = FakeEngine()
    all_of(Runner(engine, PLANS, tmp_path, ingest))
    assert [p.seed for p in engine.started] == [2]
    assert layout.is_whole(tmp_path / id_of(PLANS[1]))
    assert not (tmp_path / ".failed" / id_of(PLANS[1])).exists()


def test_what_a_killed_process_left_half_written_is_removed_and_made_anew(tmp_path: Path) -> None:
    half = layout.tmp_dir(tmp_path, id_of(PLANS[0]), 1)
    half.mkdir()
    (half / "metrics.parquet").write_bytes(b"half")
    no_manifest = tmp_path / id_of(PLANS[1])
    no_manifest.mkdir()
    (no_manifest / "plan.json").write_text("{}")
    all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))
    assert not half.exists()
    assert all(layout.is_whole(tmp_path / id_of(p)) for p in PLANS)


def test_a_run_that_exists_beside_is_linked_and_not_made(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(), PLANS[:2], tmp_path / "demo", ingest))
    engine = FakeEngine()
    events = all_of(Runner(engine, PLANS, tmp_path / "study", ingest))
    assert [p.seed for p in engine.started] == [3]
    planned = events[0]
    assert isinstance(planned, Planned)
    assert (planned.reused, planned.to_do) == (2, 1)
    run = id_of(PLANS[0])
    here, there = (tmp_path / d / run / "metrics.parquet" for d in ("study", "demo"))
    assert os.path.samefile(here, there)


@pytest.mark.parametrize("damage", ["cut", "overwritten", "missing", "odd manifest"])
def test_a_damaged_run_is_never_linked_and_a_good_one_is_preferred(tmp_path: Path, damage: str) -> None:
    """First only the damaged one is there, then also a good one whose directory comes later by its name."""
    run = id_of(PLANS[0])
    for place in ("a", "b"):
        all_of(Runner(FakeEngine(), PLANS[:1], tmp_path / place, ingest, reuse=False))
    table, manifest = (tmp_path / "a" / run / name for name in ("samples.parquet", "manifest.json"))
    content = table.read_bytes()
    if damage == "cut":
        table.write_bytes(content[:-9])
    elif damage == "overwritten":
        table.write_bytes(content[:4] + bytes(len(content) // 3) + content[4 + len(content) // 3 :])
    elif damage == "missing":
        table.unlink()
    else:
        manifest.write_text(manifest.read_text().replace('"plan_seed": 1', '"plan_seed": NaN'))
    engine = FakeEngine()
    all_of(Runner(engine, PLANS[:1], tmp_path / "c", ingest))
    assert engine.started == []
    assert (tmp_path / "c" / run / table.name).samefile(tmp_path / "b" / run / table.name)
    for place in ("b", "c"):
        shutil.rmtree(tmp_path / place)
    all_of(Runner(engine, PLANS[:1], tmp_path / "c", ingest))
    assert [plan.seed for plan in engine.started] == [1]
    assert not (tmp_path / "c" / run / manifest.name).samefile(manifest)


def test_a_run_that_was_damaged_in_its_place_is_made_again(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(), PLANS[:1], tmp_path, ingest))
    table = tmp_path / id_of(PLANS[0]) / "metrics.parquet"
    table.write_bytes(table.read_bytes()[:-9])
    engine = FakeEngine()
    all_of(Runner(engine, PLANS[:1], tmp_path, ingest))
    assert [plan.seed for plan in engine.started] == [1]
    assert layout.is_whole(table.parent)


def test_the_same_run_of_another_experiment_is_linked_under_this_ones_names(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(), PLANS[:1], tmp_path / "demo", ingest))
    names = {"experiment": "study", "question": "Another?", "key": {"repetition": "first"}}
    engine = FakeEngine()
    all_of(Runner(engine, [PLANS[0].model_copy(update=names)], tmp_path / "study", ingest))
    assert engine.started == []
    run = id_of(PLANS[0])
    for directory, key in (("study", {"repetition": "first"}), ("demo", PLANS[0].key)):
        manifest = layout.read_manifest(tmp_path / directory / run)
        assert manifest is not None
        assert manifest["key"] == key
        assert manifest["plan_hash"] == plan_hash(Plan.read(tmp_path / directory / run / "plan.json"))
        assert Plan.read(tmp_path / directory / run / "plan.json").key == key


def test_a_run_made_before_an_axis_was_renamed_gets_the_new_names(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(), PLANS[:1], tmp_path, ingest))
    engine = FakeEngine()
    all_of(Runner(engine, [PLANS[0].model_copy(update={"key": {"aqm": "pfifo"}})], tmp_path, ingest))
    assert engine.started == []
    manifest = layout.read_manifest(tmp_path / id_of(PLANS[0]))
    assert manifest is not None
    assert manifest["key"] == {"aqm": "pfifo"}


def test_a_run_that_is_there_already_keeps_the_label_of_its_kernel(tmp_path: Path) -> None:
    all_of(Runner(FakeEngine(), PLANS[:1], tmp_path, ingest))
    run = tmp_path / id_of(PLANS[0])
    manifest = layout.read_manifest(run)
    assert manifest is not None
    labelled = manifest["key"] | {layout.KERNEL_AXIS: "HZ=100"}
    (run / layout.MANIFEST).write_text(json.dumps(manifest | {"key": labelled}))
    all_of(Runner(FakeEngine(), PLANS[:1], tmp_path, ingest))
    again = layout.read_manifest(run)
    assert again is not None
    assert again["key"] == labelled


def test_two_names_for_one_run_in_an_experiment_are_an_error(tmp_path: Path) -> None:
    twin = PLANS[0].model_copy(update={"key": {"queue": "fifo", "seed": "1"}})
    with pytest.raises(PlanError, match=r"queue=pfifo seed=1 and queue=fifo seed=1"):
        Runner(FakeEngine(), [PLANS[0], twin], tmp_path, ingest)


def test_removing_the_linked_directory_leaves_the_links_whole(tmp_path: Path) -> None:
    import shutil

    all_of(Runner(FakeEngine(), PLANS[:1], tmp_path / "demo", ingest))
    all_of(Runner(FakeEngine(), PLANS[:1], tmp_path / "study", ingest))
    shutil.rmtree(tmp_path / "demo")
    assert layout.is_whole(tmp_path / "study" / id_of(PLANS[0]))


def test_two_runners_in_one_directory_do_not_collide(tmp_path: Path) -> None:
    outdir.prepare(tmp_path)
    with outdir.locked(tmp_path), pytest.raises(StoreError, match=f"process {os.getpid()}"):
        all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))
    assert len(all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))) > 3


def test_an_interrupt_stops_all_guests_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    def behave(plan: Plan, directory: Path, stop: threading.Event) -> RunFault | None:
        if plan.seed == 1:
            return None
        wait_for(stop)
        return RunFault("stopped", "interrupted")

    runner = Runner(FakeEngine(behave), PLANS, tmp_path, ingest)
    events = runner.run()
    for event in events:
        if isinstance(event, Done):
            break
    events.close()
    assert entries(tmp_path) == [id_of(PLANS[0])]
    assert threading.active_count() == 1 or not any(t.name.startswith("slot-") for t in threading.enumerate())
    all_of(Runner(FakeEngine(), PLANS, tmp_path, ingest))
    assert entries(tmp_path) == sorted(id_of(p) for p in PLANS)


def test_a_stopped_guest_is_told_as_stopped_and_not_as_failed(tmp_path: Path) -> None:
    def behave(plan: Plan, directory: Path, stop: threading.Event) -> RunFault | None:
        stop.set()
        return RunFault("stopped", "interrupted")

    events = all_of(Runner(FakeEngine(behave, slots=1), PLANS[:1], tmp_path, ingest))
    assert [type(e) for e in events if isinstance(e, Done | Stopped)] == [Stopped]
    assert not (tmp_path / ".failed").exists()


def test_a_full_disk_stops_everything_with_one_error_and_keeps_whole_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine(slots=1)
    real = outdir.free_bytes
    monkeypatch.setattr(outdir, "free_bytes", lambda path: real(path) if not engine.started else 1000)
    with pytest.raises(StoreError, match=r"disk is full.*\n?.*whole runs are kept"):
        all_of(Runner(engine, PLANS, tmp_path, ingest))
    assert len(engine.started) == 1
    assert len(entries(tmp_path)) == 1


def test_a_disk_that_fills_while_results_are_written_is_said_once(tmp_path: Path) -> None:
    import errno

    def full(directory: Path, facts: object) -> object:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(StoreError, match="No space left"):
        all_of(Runner(FakeEngine(), PLANS, tmp_path, full))  # type: ignore[arg-type]
    assert entries(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="--out DIR"):
        all_of(Runner(FakeEngine(), PLANS, tmp_path / "out", ingest))


def test_a_file_in_the_way_of_the_directory_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(StoreError, match="--out DIR"):
        all_of(Runner(FakeEngine(), PLANS, tmp_path / "out", ingest))


def test_never_more_guests_than_memory_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from narrows.engine import host

    monkeypatch.setattr(host, "memory_available_bytes", lambda: 3 * 2**30 + host.MEMORY_KEPT_FREE_BYTES)
    events = all_of(Runner(FakeEngine(memory_bytes=2**30, slots=8), PLANS * 1, tmp_path / "a", ingest))
    assert isinstance(events[0], Planned)
    assert events[0].slots == 3
    with pytest.raises(EngineError, match="less memory"):
        all_of(Runner(FakeEngine(memory_bytes=4 * 2**30), PLANS, tmp_path / "b", ingest, reuse=False))


def test_a_defect_in_reading_is_told_and_not_swallowed(tmp_path: Path) -> None:
    def broken(directory: Path, facts: object) -> object:
        raise ZeroDivisionError("oops")

    from narrows.errors import NarrowsError

    with pytest.raises(NarrowsError, match="ZeroDivisionError: oops"):
        all_of(Runner(FakeEngine(), PLANS, tmp_path, broken))  # type: ignore[arg-type]
    assert entries(tmp_path) == []


def test_reading_in_another_process_gives_the_same_answer(tmp_path: Path) -> None:
    from narrows.store.finish import FinishPool

    with FinishPool(1) as finish:
        events = all_of(Runner(FakeEngine(fail_second, slots=1), PLANS, tmp_path, finish))
    assert sorted(e.status for e in events if isinstance(e, Done)) == ["failed", "ok", "ok"]


def read_or_die(directory: Path, facts: RunFacts) -> Finished:
    """Reads nothing; of one run it dies, as a reader does that the machine kills."""
    plan = json.loads((directory / "plan.json").read_bytes())
    if plan["seed"] == 2:
        os._exit(9)
    time.sleep(0.2)
    return ingest(directory, facts)


def test_a_reader_that_dies_costs_its_own_run_only_and_the_message_names_the_file(tmp_path: Path) -> None:
    from narrows.store.finish import FinishPool

    with FinishPool(2, read_or_die) as finish:
        events = all_of(Runner(FakeEngine(slots=2), PLANS, tmp_path, finish))
    done = {e.run_id: e for e in events if isinstance(e, Done)}
    assert sorted(e.status for e in done.values()) == ["failed", "ok", "ok"]
    (failed,) = (tmp_path / ".failed").iterdir()
    message = json.loads((failed / "manifest.json").read_text())["error"]["line"]
    assert "the largest is raw/" in message
    assert "sample(tcp_info" in message


def test_the_line_of_a_failed_tc_has_its_reason_and_that_of_a_program_its_last_word() -> None:
    usage = 'Illegal "overhead"\nUsage: ... htb\nCommand failed -:2'
    fault = RunFault("setup", "tc failed", node="router", command="tc class add dev eth0", stderr=usage)
    assert fault.why() == 'tc failed (tc class add dev eth0): Illegal "overhead"'
    assert fault.line() == f"setup: router: {fault.why()}"
    traced = RunFault("run", "exit status 1", command="python3 x.py", stderr="Traceback\nValueError: 3")
    assert traced.line().endswith("ValueError: 3")
    python = 'Traceback\n  File "/a/x.py", line 7, in <module>\n    f()\nValueError: 3'
    assert RunFault("run", "exit status 1", stderr=python).line().endswith(": /a/x.py:7: ValueError: 3")
    node = (
        'file:///a/run.mjs:1\nthrow new Error("boom")\n      ^\n\nError: boom\n    at …\n\nNode.js v20.20.2'
    )
    assert RunFault("run", "exit status 1", stderr=node).line().endswith(": /a/run.mjs:1: Error: boom")
