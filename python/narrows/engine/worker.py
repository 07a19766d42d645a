"""One worker of many at a shared folder: plans in, runs out, no server.

    FOLDER/lab.json      engine, kernel and agent, of the first worker: others must have the same
    FOLDER/plans/        what is to be made, named by content
    FOLDER/leases/       who makes what now
    FOLDER/failed/       runs that failed, each with its line; nobody tries them again unasked
    FOLDER/runs/         a directory of results as `narrows run` makes it
    FOLDER/unfinished/   runs that are not whole

A run appears by one rename. A worker that dies costs the runs it was making: others take them over. A run
over which several workers died counts as failed.
"""

import json
import os
import platform
import shutil
import threading
from collections.abc import Generator, Iterable
from contextlib import suppress
from pathlib import Path

from narrows.engine import contents, layout, outdir
from narrows.engine.events import Event, Planned
from narrows.engine.leases import BEAT_S, STALE_S, Leases
from narrows.engine.runner import Runner, Todo
from narrows.engine.types import Engine, Finish, Limits, RunFault, Slot, run_id_on
from narrows.engine.work import expected_work
from narrows.errors import EngineError, StoreError
from narrows.plan.identity import plan_hash
from narrows.plan.model import Plan

LAB, PLANS, LEASES, FAILED, RUNS = "lab.json", "plans", "leases", "failed", "runs"
UNFINISHED = "unfinished"
MOST_DEATHS = 3
LOOK_S = 5.0
"""How often a worker with nothing to do looks again."""


def _write_once(path: Path, text: str) -> bool:
    """Make a file whole or not at all; False if it is there already."""
    new = path.with_name(f".new-{platform.node()}-{os.getpid()}-{threading.get_ident()}-{path.name}")
    try:
        new.write_text(text)
        os.link(new, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise StoreError(
            f"the shared folder cannot be written: {error.strerror}",
            where=str(path.parent),
            remedy="it needs a file system with hard links, room, and your right to write",
        ) from None
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)
    return True


def submit(plans: Iterable[Plan], folder: Path) -> tuple[int, int]:
    """Put plans into a shared folder; how many are new, and how many were there."""
    try:
        (folder / PLANS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the shared folder cannot be made: {error.strerror}", where=str(folder)) from None
    new = [_write_once(folder / PLANS / f"{plan_hash(plan)}.json", plan.to_json()) for plan in plans]
    return sum(new), len(new) - sum(new)


class Worker(Runner):
    """Makes what is in the folder until all of it is made or failed.

    `stay`: wait for runs that others make, in case these others die; else end when nothing is free.
    """

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        finish: Finish,
        *,
        jobs: int | None = None,
        limits: Limits | None = None,
        stay: bool = True,
        again: bool = False,
        beat_s: float = BEAT_S,
        stale_s: float = STALE_S,
        look_s: float = LOOK_S,
    ) -> None:
        super().__init__(engine, (), folder / RUNS, finish, jobs=jobs, limits=limits)
        self.folder = folder.absolute()
        self._stay, self._again, self._look_s = stay, again, look_s
        self._leases = Leases(self.folder / LEASES, beat_s=beat_s, stale_s=stale_s)
        self._found: dict[str, Todo] = {}
        self._seen: set[str] = set()
        self._choosing = threading.Lock()

    def run(self) -> Generator[Event, None, None]:
        """Do the work; closing the iterator (or an exception in its consumer) stops all guests of this
        worker and gives its leases back."""
        if not (self.folder / PLANS).is_dir():
            raise StoreError(
                "not a shared folder: it has no plans", where=str(self.folder),
                remedy="narrows submit EXPERIMENT FOLDER",
            )  # fmt: skip
        outdir.prepare(self.out)
        for name in (FAILED, UNFINISHED):
            (self.folder / name).mkdir(exist_ok=True)
        self._agree()
        if self._again:
            for mark in (self.folder / FAILED).glob("*.json"):
                mark.unlink(missing_ok=True)
        if plans := [todo.plan for todo in self._look()]:
            self.engine.check(plans)
        slots = self._slots(plans) if plans else []
        made, failed = self.settled()
        yield Planned(len(self._found), made, 0, len(self._found) - made - failed, len(slots))
        with self._leases:
            yield from self._carried(slots)

    def settled(self) -> tuple[int, int]:
        """How many of the folder's runs are whole, and how many failed, by whomever."""
        made = sum(layout.is_whole(layout.run_dir(self.out, run)) for run in self._found)
        return made, sum(self._mark(run).exists() for run in self._found)

    def total(self) -> int:
        """How many runs are in the folder, made or not."""
        return len(self._found)

    def _agree(self) -> None:
        """Workers at one folder have one kernel and one agent, or their runs would not be comparable."""
        info = self.engine.info
        ours = {"engine": info.name, "kernel": info.kernel_id, "agent": info.agent_id}
        path = self.folder / LAB
        if _write_once(path, json.dumps(ours, indent=1) + "\n"):
            return
        try:
            theirs = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise StoreError(f"cannot be read: {error}", where=str(path)) from None
        if differs := [name for name, value in ours.items() if theirs.get(name) != value]:
            differences = "; ".join(f"{name} {ours[name]}, there {theirs.get(name)}" for name in differs)
            raise EngineError(
                f"this worker is not like the first one at this folder: {differences}",
                where=str(path),
                remedy="install the same narrows and kernel here, or use another folder",
            )

    def _look(self) -> list[Todo]:
        """Plans that were not there at the last look."""
        new = []
        for path in sorted((self.folder / PLANS).glob("[!.]*.json")):
            if path.name in self._seen:
                continue
            self._seen.add(path.name)
            plan = Plan.read(path)
            run = run_id_on(self.engine, plan)
            if run not in self._found:
                self._found[run] = Todo(run, plan, expected_work(plan))
                new.append(self._found[run])
        return new

    def _mark(self, run: str) -> Path:
        return self.folder / FAILED / f"{run}.json"

    def _is_settled(self, run: str) -> bool:
        return layout.is_whole(layout.run_dir(self.out, run)) or self._mark(run).exists()

    def _next(self) -> Todo | None:
        while not self.stop.is_set():
            with self._choosing:
                if new := self._look():
                    self.engine.check([todo.plan for todo in new])
                left = [todo for todo in self._found.values() if not self._is_settled(todo.run_id)]
                for todo in sorted(left, key=lambda one: -one.work):
                    if self._take(todo):
                        return todo
            if not left or not self._stay:
                return None
            self.stop.wait(self._look_s)
        return None

    def _take(self, todo: Todo) -> bool:
        lease = self._leases.take(todo.run_id)
        if lease is None:
            return False
        if lease.deaths >= MOST_DEATHS:
            why = f"{lease.deaths} workers died over it; out of memory? see dmesg on their hosts"
            _write_once(self._mark(todo.run_id), json.dumps({"stage": "worker", "message": why}) + "\n")
        if self._is_settled(todo.run_id):
            self._leases.release(todo.run_id)
            return False
        return True

    def _one(self, todo: Todo, slot: Slot) -> None:
        try:
            super()._one(todo, slot)
        finally:
            self._leases.release(todo.run_id)

    def _begin(self, todo: Todo) -> Path:
        for content in contents.missing([todo.plan]):
            self.engine.make(content)
        work = self.folder / UNFINISHED
        # Only the lease's holder makes this run: what lies there of it is of one that is gone.
        for old in work.glob(f"{layout.TMP_PREFIX}{todo.run_id}-*"):
            shutil.rmtree(old, ignore_errors=True)
        return outdir.begin(work, todo.run_id, todo.plan)

    def _commit(self, tmp: Path, todo: Todo) -> None:
        target = layout.run_dir(self.out, todo.run_id)
        if layout.is_whole(target):  # another took this lease over while we were slow; equal id, equal run
            shutil.rmtree(tmp, ignore_errors=True)
            return
        outdir.commit(tmp, self.out, todo.run_id)

    def _keep_failed(self, tmp: Path, todo: Todo, fault: RunFault) -> None:
        outdir.keep_failed(tmp, self.out, todo.run_id)
        said = {"stage": fault.stage, "message": fault.line(), "host": platform.node()}
        _write_once(self._mark(todo.run_id), json.dumps(said, ensure_ascii=False) + "\n")
