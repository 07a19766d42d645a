"""`narrows run EXPERIMENT`: make the runs that are missing."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from narrows.cli.answer_view import say_of_runs
from narrows.cli.experiment import EXPERIMENT_HELP, Asked, asked_of
from narrows.cli.format import console as make_console
from narrows.cli.format import counted, duration, key, table
from narrows.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from narrows.cli.run_view import State
    from narrows.comparing.expectations import Verdict
    from narrows.engine.events import Done
    from narrows.engine.pace import Pace
    from narrows.engine.runner import Runner
    from narrows.engine.types import Engine
    from narrows.plan.model import Plan
    from narrows.spec.observe import repeat

INTERRUPTED = 130
UNEXPECTED = 3
FAILED = 1


ClusterOption = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Guests on a Dask cluster: local, or tcp://HOST:8786.")
]
TwiceOption = Annotated[
    int, typer.Option(min=0, help="With --cluster: one of so many runs is made twice and compared. 0: none.")
]
TWICE_EVERY = 100


def say_left_out(console: Console, engine: Engine) -> None:
    """Workers of a cluster that were not used, and why."""
    for one in getattr(engine, "left_out", ()):
        console.print(f"left out: {one}")


def say_unknown_imports(console: Console, plans: Sequence[Plan]) -> None:
    """One line of the items whose programs read what no run's id covers."""
    from narrows.plan.files import unknown_imports

    if names := unknown_imports(plans):
        console.print(
            f"note: {', '.join(names)}: what a Python, Node or other script imports is not looked into, so a "
            "changed module makes no new run; depends=[…] of a command names files and folders that count"
        )


def terminate(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def run(
    file: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help=EXPERIMENT_HELP)],
    only: Annotated[str | None, typer.Option(help="Runs to make: 'queue=fq_codel,sfq rate=100Mbit'.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once; default: one per core.")] = None,
    engine: Annotated[
        str,
        typer.Option(help="uml: virtual time, no root. netns: this host, real time, root. ssh: three hosts."),
    ] = "uml",
    hosts: Annotated[
        Path | None, typer.Option(metavar="hosts.toml", help="The three hosts of --engine ssh.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where results go; default: results/<experiment>.")] = None,
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds of wall time after which a run counts as hung.")
    ] = None,
    stall: Annotated[
        float | None,
        typer.Option(
            min=1, help="Seconds without progress in virtual time that count as hung (none without a core)."
        ),
    ] = None,
    cluster: ClusterOption = None,
    twice_every: TwiceOption = TWICE_EVERY,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE.md", help="Append what expect() found, as Markdown.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE.xml", help="Write what expect() found, as JUnit XML.")
    ] = None,
    json: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Write what expect() found, as JSON.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make all runs, also those that are there or beside.")
    ] = False,
) -> None:
    """Make the runs of an experiment that are missing.

    \b
      narrows run hello                                 # comes with narrows; results go to results/hello
      narrows run mine/late.py                          # an experiment of one's own
      narrows run FILE --only 'queue=codel,sfq seed=0'  # spaces: and; commas: or
      narrows run FILE --engine netns                   # this host's kernel, in real time
      narrows run FILE --engine ssh --hosts lab.toml    # three real hosts: docs/machines.md
      narrows run FILE --cluster tcp://head:8786        # guests on a Dask cluster's workers

    Interrupt it at will: the same call goes on, and tries again what failed. With repeat(until=…) it
    repeats each condition until the confidence interval is narrow enough. It ends with what came
    out, as a table. With expect(…) it ends with status 3 if a pass mark does not hold; 1 if a run
    failed.
    """
    from narrows.engine.choose import choose_engine
    from narrows.engine.runner import Runner
    from narrows.engine.types import Limits
    from narrows.store.finish import FinishPool

    console = make_console()
    asked = asked_of(file, only)
    plans, rule = asked.plans, asked.rule
    say_unknown_imports(console, plans)
    chosen = choose_engine(engine, cluster, jobs, twice_every, hosts, plans)
    directory = out or Path("results") / asked.name
    default = Limits()
    limits = Limits(timeout or default.wall_s, stall or default.stall_s)
    signal.signal(signal.SIGTERM, terminate)
    cores = len(os.sched_getaffinity(0))
    states: list[State] = []
    run_ids: list[str] = []
    with FinishPool(jobs or cores) as finish:

        def make(some: list[Plan], in_order: bool = False) -> None:
            runner = Runner(
                chosen,
                some,
                directory,
                finish,
                jobs=jobs,
                limits=limits,
                reuse=not fresh,
                keep_order=in_order,
            )
            run_ids.extend(runner.plans)
            states.append(carry_out(console, runner, directory, f"narrows run {file}"))

        if rule is None:
            make(plans)
        else:
            in_rounds(console, plans, rule, directory, jobs or cores, make)
    _warn_of_equal(console, directory, run_ids)
    say_left_out(console, chosen)
    written = Written(summary, junit, json)
    failed = [one for state in states for one in state.failed]
    if failed:
        written.write(plans[0], [], failed)
    report_on(console, states, directory, run_ids)
    judge(console, asked, chosen, directory, written)


@dataclass(frozen=True)
class Written:
    """The files that are to hold what came of the pass marks."""

    summary: Path | None = None
    junit: Path | None = None
    json: Path | None = None

    def refuse(self) -> None:
        """Where the experiment has no marks."""
        for name, path in vars(self).items():
            if path is not None:
                remedy = 'expect("…", below="20 ms")'
                raise UsageError(f"--{name}: the experiment expects nothing", remedy=remedy)

    def write(self, plan: Plan, verdicts: Sequence[Verdict], failed: Sequence[Done]) -> None:
        """All that are asked for; the summary says nothing of marks where runs failed."""
        from narrows.cli import expect_view

        name, question = plan.experiment, plan.question
        if self.summary is not None and not failed:
            expect_view.append(self.summary, expect_view.markdown(name, question, verdicts))
        if self.junit is not None:
            self.junit.write_text(expect_view.junit(name, verdicts, failed), encoding="utf-8")
        if self.json is not None:
            self.json.write_text(expect_view.as_json(name, question, verdicts, failed), encoding="utf-8")


def judge(console: Console, asked: Asked, engine: Engine, directory: Path, written: Written) -> None:
    """Hold the runs against the experiment's pass marks; exit status 3 if one does not hold."""
    if not asked.expects:
        written.refuse()
        return
    from narrows.cli import expect_view
    from narrows.comparing.expectations import judge as hold
    from narrows.engine.types import run_id_on
    from narrows.report.marks import FILE
    from narrows.store.results import Results

    results = Results(directory)
    runs = {run_id_on(engine, plan): plan for plan in asked.plans}
    if asked.rule is not None:  # only so many repetitions were made as the rule asked for
        runs = {run: plan for run, plan in runs.items() if (directory / run).is_dir()}
    verdicts = hold(results, runs, asked.expects)
    written.write(asked.plans[0], verdicts, [])
    said = expect_view.as_json(asked.plans[0].experiment, asked.plans[0].question, verdicts, [])
    (directory / FILE).write_text(said, encoding="utf-8")
    if not expect_view.show(console, verdicts):
        raise typer.Exit(UNEXPECTED)


def _warn_of_equal(console: Console, directory: Path, run_ids: Sequence[str]) -> None:
    """Say which repetitions are none, and which runs are of an older version."""
    from narrows.comparing.repetitions import SEED, equal_runs, warning
    from narrows.comparing.words import of_older
    from narrows.engine import outdir
    from narrows.store.results import Results

    results = Results(directory)
    passed_over = results.superseded() & set(run_ids)  # edited, made, and edited back
    for run in passed_over:
        outdir.asked_again(results.run_directory(run))
    results = Results(directory) if passed_over else results
    if older := {old: new for old, new in results.newer().items() if new in run_ids}:
        console.print(f"note: {of_older(older)}", markup=False)
    if groups := equal_runs(results, run_ids):
        keys = [results.manifest(group[0])["key"] for group in groups]
        named = [key({a: b for a, b in one.items() if a != SEED}) or "all" for one in keys]
        more = f"; and {len(named) - 3} more" if len(named) > 3 else ""
        console.print(f"warning: {warning(groups, '; '.join(named[:3]) + more)}")


def in_rounds(
    console: Console,
    plans: list[Plan],
    rule: repeat,
    directory: Path,
    at_once: int,
    make: Callable[..., None],
    item: str | None = None,
) -> None:
    """Round after round until the rule holds for each condition; then what it found. `item`: as of Rounds."""
    from narrows.calibrate.rounds import FILE, Rounds

    rounds = Rounds(plans, rule, directory, at_once, item)
    for batch in rounds:
        console.print(f"round {rounds.number}: {counted(len(batch), 'run')}")
        make(batch, True)
    rows = [
        [
            key(dict(one.condition)), one.decision.state.value, one.decision.n, one.decision.estimate,
            one.decision.interval.low if one.decision.interval else None,
            one.decision.interval.high if one.decision.interval else None, one.unit, one.decision.reason,
        ]
        for one in rounds.found
    ]  # fmt: skip
    console.print(table(["condition", "rule", "n", "estimate", "low", "high", "unit", "why"], rows))
    console.print(f"the rule and what it found: {directory / FILE}")


def carry_out(
    console: Console, runner: Runner, directory: Path, again: str, pace: Pace | None = None
) -> State:
    """Make a runner's runs and show them; `again` is the command that goes on after an interruption. `pace`
    is that of all runs of a call with several runners; the time left is then that of all of them."""
    from narrows.cli.run_view import LiveView, PlainView, State
    from narrows.engine import layout
    from narrows.engine.costs import pace_of, remember
    from narrows.engine.events import Planned, Skipped
    from narrows.engine.pace import Pace

    is_ours = runner.engine.info.name == "uml"  # others are in real time, or somewhere else
    with contextlib.closing(runner.run()) as events:
        try:
            head = [next(events)]
            for _ in range(head[0].skipped + head[0].reused if isinstance(head[0], Planned) else 0):
                head.append(next(events))
            there = {event.run_id for event in head if isinstance(event, Skipped)}
            if pace is None:
                to_do = [plan for run, plan in runner.plans.items() if run not in there]
                pace = pace_of(to_do)[0] if is_ours else Pace(to_do)
            state = State(pace)
            view = (LiveView if console.is_terminal else PlainView)(console, state)
            with view:
                for event in head:
                    view.show(event)
                for event in events:
                    view.show(event)
        except KeyboardInterrupt:
            events.close()
            whole = sum(layout.is_whole(layout.run_dir(directory, run)) for run in runner.plans)
            console.print(
                f"interrupted: {whole} of {len(runner.plans)} runs are whole, guests are stopped, "
                "nothing half-written is left\n"
                f"  → {again} (with the same options) goes on from here"
            )
            raise typer.Exit(INTERRUPTED) from None
        finally:
            if pace is not None and is_ours:
                remember(pace.measured())
    return state


def simulate(
    console: Console,
    plans: Sequence[Plan],
    directory: Path,
    again: str,
    *,
    jobs: int | None = None,
    reuse: bool = True,
    engine: str = "uml",
    cluster: str | None = None,
) -> tuple[dict[str, Plan], dict[str, str]]:
    """Make runs (in guests, unless an engine is named); the plans by their runs' ids, and why some failed."""
    from narrows.engine.choose import choose_engine
    from narrows.engine.runner import Runner
    from narrows.store.finish import FinishPool

    with FinishPool(jobs or 1) as finish:
        made = choose_engine(engine, cluster, jobs, TWICE_EVERY, plans=plans)
        runner = Runner(made, plans, directory, finish, jobs=jobs, reuse=reuse)
        state = carry_out(console, runner, directory, again)
    faults = {one.run_id: one.fault.why() if one.fault else "no reason is known" for one in state.failed}
    return runner.plans, faults


def report_on(
    console: Console, states: Sequence[State], directory: Path, run_ids: Sequence[str] = ()
) -> None:
    """What became of all runs, of all rounds together, and what they came to; status 1 if any failed."""
    failed = [one for state in states for one in state.failed]
    if any(state.planned is not None and state.planned.to_do for state in states):
        made, took_s = sum(state.ok for state in states), time.monotonic() - states[0].started
        virtual_s, wall_s = (sum(getattr(s, name) for s in states) for name in ("virtual_s", "wall_s"))
        console.print(
            f"{made} made, {len(failed)} failed in {duration(took_s)}; "
            f"{virtual_s:.0f} s virtual in {wall_s:.0f} s of guests' wall time"
        )
    for warning, count in [each for state in states for each in state.warned.items()]:
        if count > 1:
            console.print(f"{count} runs have the warning: {shorten(warning, 60, placeholder=' …')}")
    say_of_runs(console, directory, run_ids)
    console.print(f"results: {directory}")
    if failed:
        console.print(
            f"{len(failed)} failed; the first: narrows show {failed[0].run_id} --dir {directory}\n"
            "  → the same command tries the failed ones again"
        )
        raise typer.Exit(FAILED)
