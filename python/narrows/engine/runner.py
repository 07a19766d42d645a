"""Takes many plans through one engine: what is missing, longest first, one worker per slot, whole runs only.

It yields events and prints nothing. Reading the raw files is a function that it is given (the store's), so
that engines know nothing of tables. A run that fails, or that this machine cannot make, never stops the
others; a full disk stops all, since every other run would meet it too, and keeps what is whole.
"""

import queue
import shutil
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from narrows.engine import contents, host, layout, outdir
from narrows.engine.events import Done, Event, Making, Moved, Planned, Reading, Skipped, Started, Stopped
from narrows.engine.refused import refused
from narrows.engine.types import (
    Carried,
    Engine,
    Finish,
    Limits,
    Progress,
    RunFacts,
    RunFault,
    RunRequest,
    Slot,
    run_id_on,
)
from narrows.engine.work import expected_work
from narrows.errors import EngineError, NarrowsError, PlanError, StoreError
from narrows.plan.model import Plan


def _words(plan: Plan) -> str:
    return " ".join(f"{axis}={label}" for axis, label in plan.key.items())


@dataclass(frozen=True)
class Todo:
    """A run that is to be made."""

    run_id: str
    plan: Plan
    work: float
    refused: EngineError | None = None
    """Why this machine cannot make it."""


class Runner:
    """One call of `narrows run` for one directory."""

    def __init__(
        self,
        engine: Engine,
        plans: Sequence[Plan],
        out: Path,
        finish: Finish,
        *,
        jobs: int | None = None,
        limits: Limits | None = None,
        reuse: bool = True,
        keep_order: bool = False,
    ) -> None:
        self.engine, self.out, self.finish = engine, out.absolute(), finish
        self.limits = limits or Limits()
        self.jobs = jobs
        self.reuse = reuse
        self.keep_order = keep_order
        self.plans: dict[str, Plan] = {}
        for plan in plans:
            twin = self.plans.setdefault(run_id_on(engine, plan), plan)
            if twin.key != plan.key:
                raise PlanError(
                    f"two runs are the same but for their names: {_words(twin)} and {_words(plan)}",
                    remedy="remove one of these labels from its axis",
                )
        self.stop = threading.Event()
        self._events: queue.SimpleQueue[Event | NarrowsError | None] = queue.SimpleQueue()
        self._todo: queue.SimpleQueue[Todo] = queue.SimpleQueue()

    def run(self) -> Generator[Event, None, None]:
        """Do the work; closing the iterator (or an exception in its consumer) stops all guests."""
        outdir.prepare(self.out)
        with outdir.locked(self.out):
            outdir.clean(self.out)
            todo, settled = self._split()
            slots: list[Slot] = []
            if todo:
                if (warm := getattr(self.finish, "warm", None)) is not None:
                    warm()  # a pool of readers starts beside the first guest
                why = refused(self.engine.check, [one.plan for one in todo])
                todo = [replace(one, refused=why.get(number)) for number, one in enumerate(todo)]
                slots = self._slots([one.plan for one in todo if not one.refused])[: len(todo)]
            reused = sum(1 for one in settled if one.linked_from is not None)
            yield Planned(len(self.plans), len(settled) - reused, reused, len(todo), len(slots))
            yield from settled
            for content in contents.missing(one.plan for one in todo if not one.refused):
                yield Making(content.about)
                try:
                    self.engine.make(content)
                except EngineError as error:
                    todo = [
                        replace(one, refused=error) if content in one.plan.contents else one for one in todo
                    ]
                    if all(one.refused for one in todo):
                        raise
            for one in todo if self.keep_order else sorted(todo, key=lambda t: -t.work):
                self._todo.put(one)
            try:
                yield from self._carried(slots)
            finally:
                outdir.clean(self.out)

    def _carried(self, slots: Sequence[Slot]) -> Iterator[Event]:
        """What happens while a thread of each slot works; all have ended when this has."""
        workers = [
            threading.Thread(target=self._work, args=(slot,), name=f"slot-{slot.number}") for slot in slots
        ]
        try:
            for worker in workers:
                worker.start()
            yield from self._events_of(len(workers))
        finally:
            self.stop.set()
            for worker in workers:
                if worker.ident is not None:
                    worker.join()

    def _events_of(self, workers: int) -> Iterator[Event]:
        fatal: NarrowsError | None = None
        while workers:
            event = self._events.get()
            if event is None:
                workers -= 1
            elif isinstance(event, NarrowsError):
                fatal = fatal or event
                self.stop.set()
            else:
                yield event
        if fatal is not None:
            raise fatal

    def _split(self) -> tuple[list[Todo], list[Skipped]]:
        todo, settled = [], []
        for run, plan in self.plans.items():
            if layout.is_whole(layout.run_dir(self.out, run)):
                if not self.reuse or outdir.contradicts(layout.run_dir(self.out, run), plan):
                    # It stays until the new one is whole.
                    todo.append(Todo(run, plan, expected_work(plan)))
                    continue
                outdir.give_names(layout.run_dir(self.out, run), plan)
                settled.append(Skipped(run, plan, None))
                continue
            # What is there under the run's name but is not whole is nobody's: we only rename whole runs.
            shutil.rmtree(layout.run_dir(self.out, run), ignore_errors=True)
            source = outdir.link_from_siblings(self.out, run, plan) if self.reuse else None
            if source is not None:
                settled.append(Skipped(run, plan, str(source)))
            else:
                todo.append(Todo(run, plan, expected_work(plan)))
        return todo, settled

    def _slots(self, plans: list[Plan]) -> list[Slot]:
        """There are as many slots as cores, but never more than memory allows (if all were the largest)."""
        slots = self.engine.slots(self.jobs)
        largest = max(self.engine.memory_bytes(plan) for plan in plans)
        if largest == 0:
            return slots
        room = host.memory_available_bytes() - host.MEMORY_KEPT_FREE_BYTES
        fits = room // largest
        if fits < 1:
            need, have = largest / 2**20, max(room, 0) / 2**20
            raise EngineError(
                f"a run may take {need:.0f} MiB of memory, {have:.0f} MiB can be had",
                remedy="end other programs, or give the machine less memory in the experiment",
            )
        return slots[:fits]

    def _work(self, slot: Slot) -> None:
        try:
            while not self.stop.is_set():
                todo = self._next()
                if todo is None:
                    return
                self._one(todo, slot)
        except NarrowsError as error:
            self._events.put(error)
        except Exception as error:  # a defect of narrows: say which run met it, let no thread die unseen
            defect = NarrowsError(f"defect in narrows: {type(error).__name__}: {error}", remedy="report it")
            defect.__cause__ = error
            self._events.put(defect)
        finally:
            self._events.put(None)

    def _next(self) -> Todo | None:
        """What a slot makes next; None when there is nothing more for it."""
        try:
            return self._todo.get_nowait()
        except queue.Empty:
            return None

    def _begin(self, todo: Todo) -> Path:
        return outdir.begin(self.out, todo.run_id, todo.plan)

    def _commit(self, tmp: Path, todo: Todo) -> None:
        outdir.commit(tmp, self.out, todo.run_id)

    def _keep_failed(self, tmp: Path, todo: Todo, _fault: RunFault) -> None:
        outdir.keep_failed(tmp, self.out, todo.run_id)

    def _moved(self, todo: Todo, slot: Slot, progress: Progress) -> None:
        self._events.put(Moved(todo.run_id, slot, progress))

    def _one(self, todo: Todo, slot: Slot) -> None:
        outdir.check_space(self.out)
        tmp = self._begin(todo)
        self._events.put(Started(todo.run_id, todo.plan, slot))
        moved = partial(self._moved, todo, slot)
        if todo.refused is None:
            carried = self.engine.run(RunRequest(todo.plan, tmp, slot, self.limits, self.stop, moved))
        else:
            error = todo.refused
            remedy = f" → {error.remedy}" if error.remedy else ""
            carried = Carried.nothing("machine", f"{error.message}{remedy}")
        if self.stop.is_set() and carried.error is not None:
            shutil.rmtree(tmp, ignore_errors=True)
            self._events.put(Stopped(todo.run_id, slot))
            return
        self._events.put(Reading(todo.run_id, slot, carried.wall_s))
        try:
            finished = self.finish(tmp, RunFacts(todo.run_id, self.engine.info_of(todo.plan), carried))
        except OSError as error:
            shutil.rmtree(tmp, ignore_errors=True)
            raise StoreError(
                f"the results of run {todo.run_id} cannot be written: {error.strerror}",
                where=str(self.out),
                remedy="free some space and run the same command again: whole runs are kept",
            ) from None
        if finished.error is None:
            self._commit(tmp, todo)
        else:
            # A guest that meets a full disk fails in its own words; the cause is the disk.
            try:
                outdir.check_space(self.out)
            except StoreError:
                shutil.rmtree(tmp, ignore_errors=True)
                raise
            self._keep_failed(tmp, todo, finished.error)
        self._events.put(
            Done(
                run_id=todo.run_id,
                plan=todo.plan,
                slot=slot,
                status="ok" if finished.error is None else "failed",
                fault=finished.error,
                wall_s=carried.wall_s,
                virtual_s=finished.virtual_s,
                warnings=finished.warnings,
            )
        )
