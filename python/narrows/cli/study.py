"""`narrows study NAME`: makes a study's runs that are missing, draws its figures, prints its verdicts."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from narrows import data
from narrows.cli.claims import print_verdicts
from narrows.cli.format import Form, FormOption, about, called, counted, refuse_form, table, write
from narrows.cli.format import console as make_console
from narrows.cli.run import (
    FAILED,
    TWICE_EVERY,
    ClusterOption,
    TwiceOption,
    carry_out,
    say_left_out,
    terminate,
)
from narrows.errors import EngineError, KernelError, UsageError

if TYPE_CHECKING:
    from narrows.cli.run_view import State
    from narrows.engine.pace import Pace
    from narrows.engine.types import Engine
    from narrows.judging.verdict import Verdict
    from narrows.plan.model import Plan
    from narrows.studies.chosen import Part

AGAIN = "the same call of narrows study"


def study(
    name: Annotated[
        str | None, typer.Argument(metavar="[STUDY]", help="Which; without one, their list.")
    ] = None,
    claims: Annotated[
        list[str] | None, typer.Option(help="Only what decides these: T5,T7; r8 and R08 are the same.")
    ] = None,
    size: Annotated[str, typer.Option(help="Scale of a study that has several: core, or core-1000.")] = "",
    seeds: Annotated[str, typer.Option(help="Repetitions: 0,1,2. Default: the study's own.")] = "",
    only: Annotated[
        str, typer.Option(help="Of experiments with such an axis, these runs: 'rate=100Mbit queue=codel'.")
    ] = "",
    quick: Annotated[bool, typer.Option("--quick", help="A small part of it, for a first look.")] = False,
    kept: Annotated[
        bool, typer.Option("--kept", help="Make no run; use those that come with narrows and those here.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Say what there is to do, and stop.")] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once; default: one per core.")] = None,
    cluster: ClusterOption = None,
    twice_every: TwiceOption = TWICE_EVERY,
    results: Annotated[Path, typer.Option(help="Where runs lie, in a directory for each experiment.")] = Path(
        "results"
    ),
    out: Annotated[
        Path | None, typer.Option(help="Where the page goes; default: RESULTS/STUDY/report.")
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures", help="Write every figure as PNG and PDF too, for a paper.")
    ] = False,
    form: FormOption = Form.table,
) -> None:
    """Make a study's runs that are missing, draw its figures, judge its claims.

    \b
      narrows study                                # the studies
      narrows study aqm --plan                     # how many runs, and how long they take on this machine
      narrows study aqm                            # all of its claims; go on with the same call
      narrows study aqm --quick                    # a small cut; judges nothing that rests on one trial
      narrows study corescale --claims T5,T7 --size core --seeds 0,1
      narrows study --claims "r8 c2"               # of whichever study they are
      narrows study aqm --cluster tcp://head:8786  # guests on a Dask cluster's workers
      narrows study corescale --kept               # its page from the runs that are kept; makes none
      narrows study aqm --kept --format junit      # verdicts for other programs

    It ends with what came out in plain words; the last line on standard output is the page that it wrote.
    With --format standard output has the verdicts alone, and standard error the rest.
    """
    from narrows.engine.choose import choose_engine
    from narrows.studies.chosen import Asked, chosen
    from narrows.studies.find import by_study

    console = make_console()
    console.stderr = form is not Form.table
    if plan or (name is None and not claims):
        refuse_form(form)
    if name is None and not claims:
        _list(console)
        return
    seeded = tuple(seed.strip() for seed in seeds.split(",") if seed.strip())
    named = {name: tuple(claims or ())} if name is not None else by_study(claims or ())
    if len(named) > 1 and form is not Form.table:
        remedy = f"narrows claims {' '.join(claims or ())} --format {form}"
        raise UsageError(f"--format {form}: these claims are of {', '.join(named)}", remedy=remedy)
    if kept:
        for one, of_it in named.items():
            place = out or results / one / "report"
            page = _show(console, one, of_it, results, place, form, kept=True, figures=figures)
            typer.echo(str(page), err=console.stderr)
        return
    asked = {one: Asked(of, size, seeded, only, quick) for one, of in named.items()}
    parts = {one: chosen(one, of) for one, of in asked.items()}
    failed = 0
    every = [each for some in parts.values() for part in some for each in part.plans]
    engine = (
        _engine(console, every) if plan else choose_engine("uml", cluster, jobs, twice_every, plans=every)
    )
    paces = {one: _say(console, one, some, engine, results, jobs) for one, some in parts.items()}
    for one in parts if quick else ():
        _say_quick(console, one)
    if engine is not None:
        _say_refused(console, engine, every)
    if plan or engine is None:
        return
    for one, some in parts.items():
        failed += _make(console, some, engine, results, jobs, paces[one])
        place = out or results / one / "report"
        page = _show(console, one, asked[one].claims, results, place, form, quick=quick, figures=figures)
        typer.echo(str(page), err=console.stderr)
    say_left_out(console, engine)
    if failed:
        console.print(f"{counted(failed, 'run')} failed → {AGAIN} tries them again")
        raise typer.Exit(FAILED)


def _engine(console: Console, plans: Sequence[Plan]) -> Engine | None:
    """The engine to plan for; None where there is no kernel yet."""
    from narrows.engine.choose import make_engine

    try:
        return make_engine("uml", plans=plans)
    except KernelError as error:
        console.print(f"{error.message} → {error.remedy}")
        return None


def _say_refused(console: Console, engine: Engine, plans: Sequence[Plan]) -> None:
    """What is missing for the last of them is said before the first; EngineError where none can be made."""
    from narrows.engine.refused import refused

    why = Counter(str(error).replace("\n ", "") for error in refused(engine.check, plans).values())
    for line, runs in why.items():
        console.print(f"{counted(runs, 'run')} cannot be made: {line}", soft_wrap=True)


def _list(console: Console) -> None:
    from narrows.studies.find import claims, experiments, studies

    rows = [
        [
            name,
            of.title,
            f"{claims(name)[0].judge.claim.id} to {claims(name)[-1].judge.claim.id}",
            len(experiments(name)),
            of.paper.replace("*", ""),
        ]
        for name, of in studies().items()
    ]
    console.print(table(["study", "about", "claims", "experiments", "who claimed it"], rows))


def _say(
    console: Console, name: str, parts: Sequence[Part], engine: Engine | None, results: Path, jobs: int | None
) -> Pace:
    """Say how many runs, how many of them are there, and about how long the others take on this machine."""
    from narrows import kernel
    from narrows.engine import layout
    from narrows.engine.costs import pace_of
    from narrows.engine.types import run_id_on
    from narrows.plan.identity import run_id
    from narrows.studies.find import study

    plans = [plan for part in parts for plan in part.plans]
    runs: dict[str, Plan] = {
        run_id_on(engine, plan) if engine else run_id(plan, kernel="", agent=""): plan for plan in plans
    }
    folders = [path for path in results.iterdir() if path.is_dir()] if results.is_dir() else []
    missing = [
        plan
        for run, plan in runs.items()
        if not any(layout.is_whole(layout.run_dir(folder, run)) for folder in folders)
    ]
    pace, guessed = pace_of(missing)
    cores = len(engine.slots(jobs)) if engine else jobs or len(os.sched_getaffinity(0))
    slots = max(1, min(cores, len(missing)))
    console.print(
        f"{name}: {counted(len(parts), 'experiment')}, {counted(len(runs), 'run')}, "
        f"{len(runs) - len(missing)} there already, {len(missing)} to make"
    )
    if missing:
        basis = "a rough guess: a kind of them was never made here" if guessed else "as such runs took here"
        left = about(pace.left_s([], slots) or 0.0)
        console.print(f"about {left} on {counted(slots, 'core')} of this machine ({basis})")
        if study(name).many_packets and engine and not kernel.find().is_profiled:
            console.print("an eighth less with narrows kernel build --profiled (eight minutes, once)")
    return pace


def _say_quick(console: Console, name: str) -> None:
    """What the quick part can decide."""
    from narrows.studies.quick import decides

    made, others = decides(name)
    console.print(
        f"{name} --quick has runs for {', '.join(made) or 'no claim'}"
        + (f"; for {', '.join(others)}: narrows study {name}" if others else "")
    )


def _make(
    console: Console, parts: Sequence[Part], engine: Engine, results: Path, jobs: int | None, pace: Pace
) -> int:
    """Make what is missing, experiment after experiment; how many runs failed."""
    from narrows.engine.runner import Runner
    from narrows.store.finish import FinishPool

    signal.signal(signal.SIGTERM, terminate)
    states: list[State] = []
    refused = 0
    with FinishPool(jobs or len(os.sched_getaffinity(0))) as finish:
        for number, part in enumerate(parts, start=1):
            console.print(f"{number} of {len(parts)}: {part.name}")
            directory = results / part.name
            runner = Runner(engine, part.plans, directory, finish, jobs=jobs)
            try:
                states.append(carry_out(console, runner, directory, AGAIN, pace))
            except EngineError as error:  # none of this experiment's runs can be made: the next one's may be
                console.print(f"{part.name}: {error}", soft_wrap=True)
                refused += len(part.plans)
    return refused + sum(len(state.failed) for state in states)


def _show(
    console: Console,
    name: str,
    claims: Sequence[str],
    results: Path,
    out: Path,
    form: Form,
    *,
    kept: bool = False,
    quick: bool = False,
    figures: bool = False,
) -> Path:
    """The study's page and verdicts, of all runs of its experiments that are there; `kept`: also of those
    that come with narrows; `quick`: what rests on one trial is not judged."""
    from narrows.cli.answer_view import say
    from narrows.engine import layout
    from narrows.runs.find import runs_below
    from narrows.studies.find import claims as claims_of
    from narrows.studies.find import experiments
    from narrows.studies.judged import judged
    from narrows.studies.opening import opening
    from narrows.studies.page import answer, build
    from narrows.studies.quick import without_single_trials
    from narrows.studies.told import told

    places = [results / stem for stem in experiments(name)]
    held = [place for place in places if any(layout.read_manifest(run) for run in place.glob("[!.]*"))]
    evidence = data.at("evidence") / name
    roots = [*held, *([evidence] if kept and evidence.is_dir() else [])]
    runs = runs_below(roots)
    if not runs:
        raise UsageError(f"no run of the study {name} is here", remedy=f"narrows study {name} makes them")
    found = judged(roots, claims or [module.judge.claim.id for module in claims_of(name)], runs)
    verdicts: Sequence[Verdict] = found.verdicts
    if quick:
        verdicts = without_single_trials(verdicts, runs)
    with Console(stderr=True, highlight=False).status("drawing") as status:

        def tell(figure: str) -> None:
            status.update(f"drawing {figure}")

        built = build(name, runs, verdicts, out, tell, files=figures)
    if form is not Form.table:
        write(form, told(verdicts, runs, found.measured, roots, called()))
        return built.html
    known = [v for v in verdicts if v.verdict != "not measured" or claims]
    unknown = [v.claim.id for v in verdicts if v not in known]
    if known:
        print_verdicts(Console(highlight=False), known)
    if unknown:
        console.print(f"not measured: {', '.join(unknown)}")
    said = answer(verdicts, runs, name)
    say(console, opening(name, verdicts, runs), said[0])
    return built.html
