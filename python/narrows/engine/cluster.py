"""Guests on the workers of a Dask cluster: an engine like `uml`, whose slots are those workers' threads.

A task is one run, made in a directory of its own on its worker; its raw files come back as bytes, and are
read here. A worker that dies costs the runs that it was making: Dask gives them to others, and after some
deaths over one run that run has failed. A run that is no longer wanted (Ctrl-C, or this machine is gone)
is released by Dask; the task sees that and ends its guest. A run is replayable, so some are made twice,
on two workers, and must be equal to the byte: a worker that differs is named and left out.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narrows.engine import contents, layout
from narrows.engine.types import (
    Carried,
    Limits,
    OneKernel,
    Progress,
    ProgressSink,
    RunFault,
    RunRequest,
    Slot,
)
from narrows.errors import EngineError, NarrowsError
from narrows.plan.identity import plan_hash
from narrows.plan.items import Content
from narrows.plan.model import Plan

if TYPE_CHECKING:
    from distributed import Client, Future

    from narrows.engine.uml import UmlEngine

CONNECT_S = 15
DEATHS = 3
"""Workers that may die over one run."""
LOOK_S = 0.5
TELL_S = 2.0
"""How often a worker says how far a run has come: of a thousand, 500 times a second for the scheduler."""
TOPIC = "narrows"
ANSWERS_S = 30
INSTALL = "pip install 'narrows[cluster]', here and on every worker"


@dataclass(frozen=True)
class Made:
    """What a worker made of a plan."""

    carried: Carried
    files: dict[str, bytes]
    """Raw files and the console, by their path in the run's directory."""
    worker: str

    def digests(self) -> dict[str, str]:
        """Digests the raw files: what two workers must agree in."""
        raw = {name: data for name, data in self.files.items() if name.startswith(f"{layout.RAW}/")}
        return {name: hashlib.sha256(data).hexdigest() for name, data in raw.items()}


def identity() -> tuple[str, str] | str:
    """On a worker: its kernel and agent, or why it cannot run guests."""
    from narrows.engine.uml import UmlEngine

    try:
        info = UmlEngine().info
    except NarrowsError as error:
        return str(error)
    return info.kernel_id, info.agent_id


def carry(text: str, limits: Limits, ours: tuple[str, str]) -> Made:
    """On a worker: one run, by the kernel and the agent that are asked for or not at all. The guest is ended
    as soon as the task is not wanted any more."""
    from distributed import get_worker

    from narrows.engine.uml import UmlEngine

    worker = get_worker()
    key = worker.get_current_task()
    stop, over = threading.Event(), threading.Event()

    def watch() -> None:
        while not over.wait(LOOK_S):
            task = worker.state.tasks.get(key)
            if (
                task is None
                or task.state in ("cancelled", "forgotten", "released")
                or worker.status.name == "closed"
            ):
                stop.set()

    if (theirs := identity()) != ours:
        why = theirs if isinstance(theirs, str) else "another kernel or agent than where it was asked for"
        return Made(Carried.nothing("worker", f"{worker.address}: {why}"), {}, str(worker.address))
    threading.Thread(target=watch, daemon=True).start()
    try:
        return _carry(
            UmlEngine(for_others=True),
            Plan.from_json(text),
            limits,
            stop,
            str(worker.address),
            _teller(worker, str(key)),
        )
    finally:
        over.set()


def _teller(worker: Any, key: str) -> ProgressSink:
    """On a worker: tells whoever asked how far a run has come, now and then."""
    reported = -TELL_S

    def tell(progress: Progress) -> None:
        nonlocal reported
        if time.monotonic() - reported >= TELL_S:
            reported = time.monotonic()
            worker.log_event(TOPIC, (key, progress.t_ns, progress.phase, progress.note))

    return tell


def _carry(
    engine: UmlEngine, plan: Plan, limits: Limits, stop: threading.Event, address: str, progress: ProgressSink
) -> Made:
    with tempfile.TemporaryDirectory(prefix="narrows-run-") as name:
        directory = Path(name)
        (directory / layout.PLAN).write_text(plan.to_json())
        try:
            engine.check([plan])
            for content in contents.missing([plan]):
                engine.make(content)
            carried = engine.run(RunRequest(plan, directory, limits=limits, stop=stop, progress=progress))
        except NarrowsError as error:
            carried = Carried.nothing("worker", f"{address}: {error}")
        paths = [*(directory / layout.RAW).glob("*"), directory / layout.CONSOLE]
        files = {p.relative_to(directory).as_posix(): p.read_bytes() for p in paths if p.is_file()}
    return Made(carried, files, address)


class ClusterEngine(OneKernel):
    """Workers of a Dask cluster. `address`: "local", or that of a scheduler (`tcp://…`). One of `twice_every`
    runs is made twice; 0: none.
    """

    def __init__(self, address: str, jobs: int | None = None, twice_every: int = 100) -> None:
        from narrows.engine.uml import UmlEngine

        self._own = UmlEngine()
        self.info = self._own.info
        self._twice_every = twice_every
        self._client, self._close = connect(address, jobs)
        self._bad: set[str] = set()
        self._lock = threading.Lock()
        self.left_out: list[str] = []
        """What is said of workers that are not used."""
        self._good = self._workers()
        self._sinks: dict[str, ProgressSink] = {}
        self._client.subscribe_topic(TOPIC, self._hear)

    def close(self) -> None:
        """Let go of the cluster; one that is local ends."""
        self._close()

    def _workers(self) -> list[str]:
        said = self._client.run(identity, on_error="return")
        ours = (self.info.kernel_id, self.info.agent_id)
        good = [address for address, theirs in said.items() if theirs == ours]
        for address, theirs in said.items():
            if theirs != ours:
                why = theirs if isinstance(theirs, str | Exception) else "another kernel or agent than here"
                self.left_out.append(f"{address}: {why}")
                self._bad.add(address)
        if not good:
            left_out = f": {self.left_out[0]}" if self.left_out else ""
            raise EngineError(
                f"the cluster has {len(said)} workers, and none that can be used{left_out}",
                remedy="start workers with the same narrows and kernel (docs/machines.md)",
            )
        return good

    def check(self, plans: list[Plan]) -> None:
        """As this machine's guests; a worker looks again."""
        self._own.check(plans)

    def make(self, content: Content) -> None:
        """Workers make content themselves."""

    def slots(self, jobs: int | None) -> list[Slot]:
        """One for each thread of each worker that is used."""
        threads = self._client.nthreads()
        count = sum(threads.get(address, 0) for address in self._good)
        return [Slot(number, None) for number in range(min(count, jobs or count))]

    def run(self, request: RunRequest) -> Carried:
        """One run, on whichever worker is free."""
        plan, directory = request.plan, request.directory
        (directory / layout.RAW).mkdir(exist_ok=True)
        made = self._make(request, (), request.progress)
        if isinstance(made, Carried):
            return made
        if made.carried.error is None and self._is_to_be_made_twice(plan):
            fault = self._compare(request, made)
            if fault is not None:
                return replace(made.carried, error=fault)
        for name, data in made.files.items():
            (directory / name).write_bytes(data)
        return made.carried

    def _is_to_be_made_twice(self, plan: Plan) -> bool:
        return bool(self._twice_every) and int(plan_hash(plan), 16) % self._twice_every == 0

    def _hear(self, event: tuple[float, tuple[str, int, str, str]]) -> None:
        key, t_ns, phase, note = event[1]
        sink = self._sinks.get(key)
        if sink is not None:
            sink(Progress(t_ns, phase, note))

    def _make(
        self, request: RunRequest, without: tuple[str, ...], progress: ProgressSink | None = None
    ) -> Made | Carried:
        began = time.monotonic()
        with self._lock:
            there = set(self._client.nthreads())
            bad = self._bad | set(without)
        # A worker that came since has an address that nobody looked at: it looks at itself (`carry`).
        allowed = sorted(there - bad)
        if not allowed:
            return Carried.nothing("cluster", "there is no worker left that can be used")
        future: Future[Any] = self._client.submit(
            carry, request.plan.to_json(), request.limits, (self.info.kernel_id, self.info.agent_id),
            pure=False, retries=0, workers=allowed, allow_other_workers=False,
        )  # fmt: skip
        if progress is not None:
            self._sinks[str(future.key)] = progress
        try:
            looked = began
            while not future.done():
                if request.stop.is_set():
                    return replace(Carried.nothing("stopped", "interrupted"), wall_s=time.monotonic() - began)
                if time.monotonic() - looked > LOOK_S:
                    # Dask waits for a named worker for ever, and one that comes again has another name.
                    looked = time.monotonic()
                    if not set(allowed) & set(self._client.nthreads()):
                        return Carried.nothing(
                            "cluster", f"gone, before the run was made: {', '.join(allowed)}"
                        )
                time.sleep(LOOK_S / 5)
            made: Made = future.result()
            return made
        except Exception as error:  # whatever Dask says: a worker that died, a scheduler that is gone
            why = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no word'}"
            return replace(Carried.nothing("cluster", why), wall_s=time.monotonic() - began)
        finally:
            self._sinks.pop(str(future.key), None)
            future.cancel()

    def _compare(self, request: RunRequest, first: Made) -> RunFault | None:
        """Make it again elsewhere; None if both are equal, or if a third says that the first was right."""
        second = self._make(request, (first.worker,))
        if isinstance(second, Carried):
            if request.stop.is_set():
                return second.error
            with self._lock:
                why = second.error.message if second.error else "no word"
                self.left_out.append(f"the run of {plan_hash(request.plan)} was not made twice: {why}")
            return None
        if first.digests() == second.digests():
            return None
        names = sorted(
            name for name in first.digests() | second.digests()
            if first.digests().get(name) != second.digests().get(name)
        )  # fmt: skip
        third = self._make(request, (first.worker, second.worker))
        wrong = None
        if isinstance(third, Made):
            wrong = next((m for m in (first, second) if m.digests() != third.digests()), None)
        differ = f"{first.worker} and {second.worker} made different bytes ({', '.join(names)})"
        if wrong is None:
            return RunFault("cluster", f"{differ}, and no third worker could say which is right")
        with self._lock:
            self._bad.add(wrong.worker)
            self.left_out.append(
                f"{wrong.worker}: its run of {plan_hash(request.plan)} differs in {', '.join(names)}"
            )
        return None if wrong is second else RunFault("cluster", f"{differ}; {wrong.worker} is left out")


def connect(address: str, jobs: int | None) -> tuple[Client, Callable[[], None]]:
    """A client of the cluster, and what lets go of it."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        raise EngineError("--cluster needs Dask, which is not installed", remedy=INSTALL) from None
    # The guest's memory is a child's, which a nanny does not see: it must not judge by it.
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": DEATHS,
            "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
            "distributed.worker.daemon": False,
        }
    )
    if address == "local":
        cluster = LocalCluster(
            n_workers=jobs or len(os.sched_getaffinity(0)), threads_per_worker=1, processes=True,
            memory_limit=None, dashboard_address=":0", silence_logs=50,
        )  # fmt: skip
        client = Client(cluster, set_as_default=False)

        def end() -> None:
            client.close(timeout=ANSWERS_S)
            cluster.close(timeout=ANSWERS_S)

        return client, end
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EngineError(
            f"no scheduler at {address}: {why}",
            remedy='"local", or what dask scheduler says: tcp://HOST:8786',
        ) from None
    return client, lambda: client.close(timeout=ANSWERS_S)
