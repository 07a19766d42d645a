"""`narrows submit` and `narrows worker`: many machines at one shared folder."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.experiment import EXPERIMENT_HELP, asked_of
from narrows.cli.format import console as make_console
from narrows.cli.format import counted, duration, key
from narrows.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.engine.events import Event
    from narrows.engine.worker import Worker

INTERRUPTED = 130
FAILED = 1
FOLDER_HELP = "A folder that all machines see (NFS, a cluster's file system)."
QUIET_S = 60.0
"""After so much wall time a run says again how far it has come."""


def register(app: typer.Typer) -> None:
    app.command("submit")(submit)
    app.command("worker")(worker)


def submit(
    file: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help=EXPERIMENT_HELP)],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP)],
    only: Annotated[str | None, typer.Option(help="Runs to make: 'queue=fq_codel,sfq rate=100Mbit'.")] = None,
) -> None:
    """Put the runs of an experiment into a shared folder, for workers to make.

    \b
      narrows submit hello /nfs/sweep       # makes the folder; a second call adds what is new
      narrows worker /nfs/sweep             # on each machine; or later, in a job
      narrows report /nfs/sweep/runs        # a directory of results like any other
    """
    from narrows.engine.worker import submit as put

    asked = asked_of(file, only)
    if asked.rule is not None:
        raise UsageError(
            "repeat(until=…) decides after each round, which a folder of plans cannot",
            where=str(file),
            remedy="narrows run, or a fixed number: repeat(20)",
        )
    new, there = put(asked.plans, folder)
    typer.echo(f"{counted(new, 'plan')} put into {folder}, {there} there already")


def worker(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help=FOLDER_HELP)],
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once; default: one per core.")] = None,
    leave: Annotated[
        bool, typer.Option("--leave", help="End when nothing is free, also while others still make runs.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Try again also what failed.")] = False,
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds of wall time after which a run counts as hung.")
    ] = None,
) -> None:
    """Make runs of a shared folder until all are made, beside any number of other workers.

    \b
      narrows submit hello /nfs/sweep                 # first: plans go in
      narrows worker /nfs/sweep                       # on each machine
      sbatch --array=1-100 --wrap 'narrows worker /nfs/sweep --jobs 1'
      parallel --nonall -S host1,host2 narrows worker /nfs/sweep

    One worker a machine takes all of its cores. Workers need no server and may come and go: one that is
    killed costs the runs that it was making, and another makes them. All must have the same kernel and agent.
    Interrupt it at will. Exit status 1 if a run of the folder failed, by whomever.
    """
    from narrows.cli.run import terminate
    from narrows.engine import landlock
    from narrows.engine.types import Limits
    from narrows.engine.uml import UmlEngine
    from narrows.engine.worker import Worker
    from narrows.store.finish import FinishPool

    signal.signal(signal.SIGTERM, terminate)  # what a batch system sends when time is up
    console = make_console()
    if landlock.abi() is None:
        console.print("this host has no Landlock: what plans run reads all that this user can")
    default = Limits()
    limits = Limits(timeout or default.wall_s, default.stall_s)
    with FinishPool(jobs or len(os.sched_getaffinity(0)), only_in=folder.absolute()) as finish:
        made_by_folder = Worker(
            UmlEngine(for_others=True), folder, finish, jobs=jobs, limits=limits, stay=not leave, again=again
        )
        view = _Lines(console, made_by_folder)
        with contextlib.closing(made_by_folder.run()) as events:
            try:
                for event in events:
                    view.show(event)
            except KeyboardInterrupt:
                events.close()
                console.print("interrupted: guests are stopped, leases given back; other workers go on")
                raise typer.Exit(INTERRUPTED) from None
    made, failed = made_by_folder.settled()
    console.print(f"{made} of {counted(made_by_folder.total(), 'run')} made, {failed} failed: {folder}/runs")
    if failed:
        console.print(f"why: {folder}/failed\n  → narrows worker {folder} --again tries them again")
        raise typer.Exit(FAILED)


class _Lines:
    """A line for each run of this worker, with what is left of the whole folder."""

    def __init__(self, console: Console, worker: Worker) -> None:
        self._console, self._worker = console, worker
        self._started = time.monotonic()
        self._at_start: int | None = None
        self._said: dict[int, tuple[str, float]] = {}

    def show(self, event: Event) -> None:
        from narrows.cli.run_view import done_line
        from narrows.engine.events import Done, Moved, Planned, Started

        if isinstance(event, Planned):
            self._at_start = sum(self._worker.settled())
            self._console.print(
                f"{counted(event.total, 'run')} in the folder, {event.skipped} made already, "
                f"{event.to_do} to do; {counted(event.slots, 'core')} here"
            )
        elif isinstance(event, Started):
            self._said[event.slot.number] = (key(event.plan.key), time.monotonic())
        elif isinstance(event, Moved):
            what, said = self._said.get(event.slot.number, ("", time.monotonic()))
            if time.monotonic() - said >= QUIET_S:
                self._said[event.slot.number] = (what, time.monotonic())
                self._console.print(
                    f"{event.progress.phase:<6} {event.run_id}  {what}  "
                    f"({event.progress.t_ns / 1e9:.1f} s virtual so far)"
                )
        elif isinstance(event, Done):
            done = sum(self._worker.settled())
            total = self._worker.total()
            here = done - (self._at_start or 0)
            # All workers together, at the pace since this one began.
            left_s = (time.monotonic() - self._started) / here * (total - done) if here else None
            tail = f"  left: {duration(left_s)}" if left_s else ""
            self._console.print(done_line(event).append(f"  [{done}/{total} of the folder]{tail}"))
            for warning in event.warnings:
                self._console.print(f"    warning: {warning}")
