"""`narrows calibrate`: every speed test on the same scenarios and seeds, held against the truth."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from narrows.cli.format import console as make_console
from narrows.cli.format import counted, key, table
from narrows.cli.run import (
    TWICE_EVERY,
    ClusterOption,
    TwiceOption,
    carry_out,
    in_rounds,
    report_on,
    say_left_out,
    terminate,
)
from narrows.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from narrows.calibrate.calibration import Calibration
    from narrows.calibrate.scenario import Settings
    from narrows.engine.types import Engine
    from narrows.plan.model import Plan

SCENARIO_HELP = (
    "Experiment files with under_test(), or built-in names: aqm, cross, rtt, loss, burst, dsl, cable."
)


def _list(text: str | None) -> list[str]:
    """Words between commas; a comma inside parentheses belongs to its word."""
    words, depth = [""], 0
    for letter in text or "":
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    return [word.strip() for word in words if word.strip()]


def calibrate(
    scenario: Annotated[list[str] | None, typer.Argument(metavar="[SCENARIO]…", help=SCENARIO_HELP)] = None,
    tools: Annotated[
        str | None,
        typer.Option(
            help="Speed tests: 'ndt7,iperf3+P4', and folders of your own: './my_service'; default: all. "
            "rpm takes nearly half the time."
        ),
    ] = None,
    vary: Annotated[
        bool, typer.Option("--vary", help="Also with each tool's own parameters changed.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Repetitions; default: 3, or what the scenario says.")
    ] = None,
    queue: Annotated[
        str | None, typer.Option(help="'cake', 'pfifo,fq_codel', \"pie(target='20 ms')\"; default: fq_codel.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(help="'50 Mbit/s' (the default), or several: '10 Mbit/s,50 Mbit/s'.")
    ] = None,
    rate_up: Annotated[str | None, typer.Option(help="Default: as down.")] = None,
    base_rtt: Annotated[str | None, typer.Option(help="'20 ms' (the default), or several.")] = None,
    loss: Annotated[str | None, typer.Option(help="'0 %,0.1 %'; default: 0 %.")] = None,
    burst: Annotated[str | None, typer.Option(help="Burst shaping: 'off,on'.")] = None,
    cross: Annotated[str | None, typer.Option(help="Cross traffic: 'no,cubic-down,bbr-up'.")] = None,
    only: Annotated[str | None, typer.Option(help="Runs to make: 'tool=ndt7 queue=cake'.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once; default: one per core.")] = None,
    engine: Annotated[str, typer.Option(help="uml or netns, as for run.")] = "uml",
    cluster: ClusterOption = None,
    twice_every: TwiceOption = TWICE_EVERY,
    out: Annotated[Path | None, typer.Option(help="Default: results/calibrate-<scenario>.")] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Write every figure as PNG and PDF too, for a paper.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="List the runs and stop.")] = False,
) -> None:
    """How wrong is each speed test?

    Runs all of them on the same scenarios and seeds, each beside a light third-party probe, and holds
    every metric against what the queue really did: tables, figures, and one page with the answer.

    \b
      narrows calibrate --queue cake                               # 33 runs, some minutes
      narrows calibrate --queue cake --tools ndt7,iperf3 --seeds 1 # two runs
      narrows calibrate --queue pfifo,pie --cross no,cubic-down
      narrows calibrate aqm --plan                                 # only list the runs
      narrows calibrate my_scenario.py                             # your own, with under_test()
      narrows calibrate --queue cake --tools ndt7,./my_service     # beside a tool of your own
      narrows calibrate aqm --cluster tcp://head:8786              # guests on a Dask cluster's workers

    Interrupt it at will: the same call goes on. docs/calibrate.md says what is compared with what.
    """
    from narrows.calibrate.scenario import Settings, changed, own_tools
    from narrows.engine.choose import choose_engine

    options = changed(
        Settings(), queue=_list(queue), rate=_list(rate), rate_up=_list(rate_up),
        base_rtt=_list(base_rtt), loss=_list(loss), burst=_list(burst), cross=_list(cross), seeds=seeds,
    )  # fmt: skip
    console = make_console()
    own, chosen = own_tools(_list(tools))
    options = changed(options, own=own)
    signal.signal(signal.SIGTERM, terminate)
    given = [o for o in (queue, rate, rate_up, base_rtt, loss, burst, cross) if o]
    engines: list[Engine] = []

    def engine_of_all(plans: Sequence[Plan]) -> Engine:
        if not engines:
            engines.append(choose_engine(engine, cluster, jobs, twice_every, plans=plans))
        return engines[0]

    with tempfile.TemporaryDirectory() as aside:
        # only planning leaves nothing behind: the scenario's file lies aside
        place = Path(aside) if plan else None
        for path, directory in _files(scenario or [], options, bool(given), out, place):
            one(console, path, directory, chosen, vary, seeds, only, jobs, engine_of_all, plan, figures)


def _files(
    names: list[str], options: Settings, given: bool, out: Path | None, aside: Path | None
) -> list[tuple[Path, Path]]:
    """Each scenario's file and directory of results; the file is written there, or `aside`."""
    from narrows.calibrate.scenario import BUILT_IN, Settings, question_of, written

    if names and given:
        raise UsageError(
            "options of a link go without a scenario",
            remedy="edit the scenario's file, or leave out its name",
        )
    files: list[tuple[Path, Path]] = []
    for name in names:
        directory = Path("results") / f"calibrate-{Path(name).stem}"
        if out is not None:
            directory = out if len(names) == 1 else out / Path(name).stem
        if name in BUILT_IN:
            settings = replace(BUILT_IN[name].settings, own=options.own)
            file = written(settings, BUILT_IN[name].question, _beside(directory, aside))
            files.append((file, directory))
        elif Path(name).suffix == ".py":
            if options.own:
                raise UsageError(
                    f"a folder of your own is named in {name}, not in --tools",
                    remedy='test = under_test(tool("my_service")), and --tools my_service',
                )
            files.append((Path(name), directory))
        else:
            raise UsageError(f"there is no scenario {name}", remedy=did_you_mean(name, BUILT_IN))
    if not names:
        if not given and replace(options, own=()) == Settings():
            raise UsageError(
                "which scenario?", remedy="narrows calibrate --queue cake   or   narrows calibrate aqm"
            )
        directory = out or Path("results") / f"calibrate-{options.name()}"
        file = written(options, question_of(options), _beside(directory, aside))
        files.append((file, directory))
    return files


def _beside(directory: Path, aside: Path | None) -> Path:
    return directory if aside is None else aside / directory.name


def one(
    console: Console, path: Path, directory: Path, tools: list[str] | None, vary: bool, seeds: int | None,
    only: str | None, jobs: int | None, engine: Callable[[Sequence[Plan]], Engine], plan: bool, figures: bool,
) -> None:  # fmt: skip
    """One scenario: run what is missing, compare, report."""
    from narrows.calibrate.calibration import calibration, remember, write_tables
    from narrows.calibrate.report import build
    from narrows.calibrate.scenario import plan_scenario
    from narrows.engine.runner import Runner
    from narrows.plan.select import select
    from narrows.store.finish import FinishPool

    ready = plan_scenario(path, tools, vary, seeds)
    plans = select(list(ready.plans), only)
    if plan:
        for each in plans:
            typer.echo(key(each.key))
        return
    rule, cores = ready.rule, jobs or len(os.sched_getaffinity(0))
    most = f"{'' if rule is None else 'at most '}{counted(len(plans), 'run')}"
    console.print(f"{ready.question}  {most}; scenario: {path}")
    if not plans:
        raise UsageError("there is no run to make", where=str(path))
    chosen, states = engine(plans), []
    with FinishPool(cores) as finish:

        def make(some: list[Plan], in_order: bool = False) -> None:
            runner = Runner(chosen, some, directory, finish, jobs=jobs, keep_order=in_order)
            states.append(carry_out(console, runner, directory, "narrows calibrate"))

        if rule is None:
            make(plans)
        else:
            remember(directory, ready.item)
            in_rounds(console, plans, rule, directory, cores, make, ready.item)
    remember(directory, ready.item)
    if any(s.ok or (s.planned is not None and s.planned.to_do < s.planned.total) for s in states):
        with console.status("comparing"):
            found = calibration(directory, workers=cores)
            write_tables(found, directory / "calibration")
            more = _such_homes(found)
            built = build(found, directory / "calibration", files=figures, more=more)
        show(console, found, more)
        console.print(f"report: {built.html}")
    say_left_out(console, chosen)
    report_on(console, states, directory)


def _such_homes(calibration: Calibration) -> list[tuple[str, str]]:
    """What the study of scores saw where tests read much the same."""
    from narrows.calibrate.plain import loaded
    from narrows.studies.outcomes import alike

    read = loaded(calibration)
    return [] if read is None else [("In such homes", each) for each in alike.sentences(alike.kept(), *read)]


def show(console: Console, calibration: Calibration, more: Sequence[tuple[str, str]] = ()) -> None:
    """A line a test, best first; each tool's own answers, what they cost, and what that is in plain words."""
    from narrows.calibrate import by_test
    from narrows.calibrate.plain import in_short, link
    from narrows.calibrate.tables import answers, cost_rows

    console.print(by_test.heading(calibration), soft_wrap=True)
    for number, line in enumerate(by_test.lines(calibration), start=1):
        console.print(f"{number}. {line.tool}: {line.text}", soft_wrap=True)
    console.print(by_test.note(calibration), soft_wrap=True)
    console.print()
    columns, rows = answers(calibration)
    console.print(table(columns, rows))
    for tool, reason in calibration.left_out:
        console.print(f"not in the table: {tool}: {reason}", soft_wrap=True)
    console.print()
    columns, rows = cost_rows(calibration)
    console.print(table(columns, rows))
    console.print()
    console.print(", ".join(f"{name} {text}" for name, text in link(calibration)))
    for heading, sentence in (*in_short(calibration), *more):
        console.print(f"{heading}: {sentence}")
