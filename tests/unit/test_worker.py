"""Workers at a shared folder, with guests that only write files: shared work, the dead, the unlike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from store_fakes import FakeEngine, make_plan, wait_for

from narrows.engine import layout
from narrows.engine.events import Done, Event
from narrows.engine.leases import Leases
from narrows.engine.types import RunFault
from narrows.engine.worker import Worker, submit
from narrows.errors import EngineError, PlanError, StoreError
from narrows.plan.model import Plan
from narrows.store.ingest import ingest

PLANS = [make_plan(seed=seed) for seed in range(6)]


def worker(engine: FakeEngine, folder: Path, **options: bool | float) -> Worker:
    return Worker(engine, folder, ingest, look_s=0.02, beat_s=0.05, **options)  # type: ignore[arg-type]


def done(events: list[Event]) -> list[Done]:
    return [event for event in events if isinstance(event, Done)]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_plans_are_put_once_and_a_second_call_adds_only_what_is_new(tmp_path: Path) -> None:
    assert submit(PLANS[:2], tmp_path / "f") == (2, 0)
    assert submit(PLANS[:3], tmp_path / "f") == (1, 2)
    assert len(names(tmp_path / "f/plans")) == 3


def test_two_workers_share_the_runs_and_make_each_once(tmp_path: Path) -> None:
    submit(PLANS, tmp_path)
    engines = [FakeEngine(slots=2), FakeEngine(slots=2)]
    workers = [worker(engine, tmp_path) for engine in engines]
    threads = [threading.Thread(target=lambda one=one: list(one.run())) for one in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(plan.seed for engine in engines for plan in engine.started) == [p.seed for p in PLANS]
    assert all(layout.is_whole(tmp_path / "runs" / name) for name in names(tmp_path / "runs"))
    assert len(names(tmp_path / "runs")) == len(PLANS)
    assert names(tmp_path / "unfinished") == names(tmp_path / "leases") == names(tmp_path / "failed") == []
    assert workers[0].settled() == (len(PLANS), 0)


def test_a_run_of_a_worker_that_was_killed_is_made_by_another_and_its_remains_go(tmp_path: Path) -> None:
    submit(PLANS[:1], tmp_path)
    program = f"""
import sys, os, signal
sys.path[:0] = {sys.path!r}
from store_fakes import FakeEngine
from narrows.engine.worker import Worker
from narrows.store.ingest import ingest
from pathlib import Path
die = lambda plan, directory, stop: os.kill(os.getpid(), signal.SIGKILL)
list(Worker(FakeEngine(die), Path({str(tmp_path)!r}), ingest).run())
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert len(names(tmp_path / "leases")) == 1
    assert len(list((tmp_path / "unfinished").iterdir())) == 1
    events = list(worker(FakeEngine(), tmp_path).run())
    assert [event.status for event in done(events)] == ["ok"]
    assert names(tmp_path / "leases") == list((tmp_path / "unfinished").iterdir()) == []


def test_a_lease_of_another_machine_is_taken_over_only_when_it_was_not_renewed(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(json.dumps({"worker": "x", "here": "elsewhere", "pid": 1, "deaths": 0}))
    with Leases(tmp_path, stale_s=1000) as leases:
        assert leases.take("run") is None
        os.utime(tmp_path / "run", (0, 0))
        lease = leases.take("run")
        assert lease is not None
        assert lease.deaths == 1
        assert Leases(tmp_path).take("run") is None
    assert list(tmp_path.iterdir()) == []


def test_held_leases_are_renewed(tmp_path: Path) -> None:
    with Leases(tmp_path, beat_s=0.01) as leases:
        leases.take("run")
        os.utime(tmp_path / "run", (0, 0))
        for _ in range(3000):  # half a minute
            if (tmp_path / "run").stat().st_mtime != 0:
                return
            time.sleep(0.01)
    pytest.fail("a lease that is due every hundredth of a second was never renewed")


def test_a_run_over_which_three_workers_died_counts_as_failed(tmp_path: Path) -> None:
    submit(PLANS[:1], tmp_path)
    first = worker(FakeEngine(), tmp_path)
    run = first._look()[0].run_id
    (tmp_path / "leases").mkdir()
    (tmp_path / "leases" / run).write_text(json.dumps({"worker": "x", "deaths": 2}))
    os.utime(tmp_path / "leases" / run, (0, 0))
    engine = FakeEngine()
    assert done(list(worker(engine, tmp_path).run())) == []
    assert engine.started == []
    assert "3 workers died" in (tmp_path / "failed" / f"{run}.json").read_text()


def test_a_failed_run_is_told_once_and_tried_again_only_when_asked(tmp_path: Path) -> None:
    def fail(_plan: Plan, _directory: Path, _stop: threading.Event) -> RunFault:
        return RunFault("traffic", "no luck")

    submit(PLANS[:1], tmp_path)
    (one,) = done(list(worker(FakeEngine(fail), tmp_path).run()))
    assert one.status == "failed"
    assert "no luck" in (tmp_path / "failed" / f"{one.run_id}.json").read_text()
    assert done(list(worker(FakeEngine(), tmp_path).run())) == []
    assert [event.status for event in done(list(worker(FakeEngine(), tmp_path, again=True).run()))] == ["ok"]


def test_a_worker_with_another_kernel_is_refused_and_makes_nothing(tmp_path: Path) -> None:
    submit(PLANS[:1], tmp_path)
    list(worker(FakeEngine(), tmp_path).run())
    submit(PLANS, tmp_path)
    other = FakeEngine()
    object.__setattr__(other.info, "kernel_id", "another")
    with pytest.raises(EngineError, match=r"not like the first one.*kernel another"):
        list(worker(other, tmp_path).run())
    assert other.started == []


def test_closing_a_worker_gives_its_leases_back(tmp_path: Path) -> None:
    submit(PLANS, tmp_path)
    events = worker(FakeEngine(lambda _plan, _directory, stop: wait_for(stop)), tmp_path).run()  # type: ignore[func-returns-value]
    for event in events:
        if type(event).__name__ == "Moved":
            break
    events.close()
    assert list((tmp_path / "leases").iterdir()) == []


def test_a_worker_that_may_leave_does_not_wait_for_others(tmp_path: Path) -> None:
    submit(PLANS[:1], tmp_path)
    mine = worker(FakeEngine(), tmp_path, stay=False)
    run = mine._look()[0].run_id
    mine._seen.clear()
    mine._found.clear()
    with Leases(tmp_path / "leases") as other:
        assert other.take(run) is not None
        assert done(list(mine.run())) == []


def test_what_is_no_shared_folder_and_what_is_no_plan_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no plans"):
        list(worker(FakeEngine(), tmp_path).run())
    submit([], tmp_path)
    (tmp_path / "plans/x.json").write_text("{")
    with pytest.raises(PlanError, match=r"x\.json"):
        list(worker(FakeEngine(), tmp_path).run())
