"""`narrows study NAME`: makes a study's runs that are missing, draws its figures, prints its verdicts."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from narrows.cli.claims import print_verdicts
from narrows.cli.format import console as make_console
from narrows.cli.format import counted, duration, table
from narrows.cli.run import FAILED, _terminate, carry_out, make_engine

if TYPE_CHECKING:
    from narrows.cli.run_view import State
    from narrows.engine.pace import Pace
    from narrows.engine.types import Engine
    from narrows.plan.model import Plan
    from narrows.studies.chosen import Part


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def study(
        name: Annotated[
            str | None, typer.Argument(metavar="[STUDY]", help="Which; without one, their list.")
        ] = None,
        claims: Annotated[
            list[str] | None, typer.Option(help="Only what decides these: T5,T7; r8 and R08 are the same.")
        ] = None,
        size: Annotated[
            str, typer.Option(help="Scale of a study that has several: core, or core-1000.")
        ] = "",
        seeds: Annotated[str, typer.Option(help="Repetitions: 0,1,2. Default: the study's own.")] = "",
        only: Annotated[
            str,
            typer.Option(help="Of experiments with such an axis, these runs: 'rate=100Mbit queue=codel'."),
        ] = "",
        quick: Annotated[bool, typer.Option("--quick", help="A small part of it, for a first look.")] = False,
        plan: Annotated[bool, typer.Option("--plan", help="Say what there is to do, and stop.")] = False,
        jobs: Annotated[
            int | None, typer.Option(min=1, help="Guests at once; default: one per core.")
        ] = None,
        results: Annotated[
            Path, typer.Option(help="Where runs lie, in a directory for each experiment.")
        ] = Path("results"),
        out: Annotated[
            Path | None, typer.Option(help="Where the page goes; default: RESULTS/STUDY/report.")
        ] = None,
    ) -> None:
        """Make a study's runs that are missing, draw its figures, judge its claims.

        \b
          narrows study                                # the studies
          narrows study aqm --plan                     # how many runs, and how long they take on this machine
          narrows study aqm                            # all of its claims; go on with the same call
          narrows study aqm --quick                    # a small cut of it
          narrows study corescale --claims T5,T7 --size core --seeds 0,1

        The last line on standard output is the page that it wrote.
        """
        from narrows.studies.chosen import Asked, chosen

        console = make_console()
        if name is None:
            _list(console)
            return
        asked = Asked(
            tuple(claims or ()), size, tuple(s.strip() for s in seeds.split(",") if s.strip()), only, quick
        )
        parts = chosen(name, asked)
        engine = make_engine("uml")
        pace = _say(console, name, parts, engine, results, jobs)
        if plan:
            return
        again = "the same call of narrows study"
        failed = _make(console, parts, engine, results, jobs, pace, again)
        page = _show(console, name, asked.claims, results, out or results / name / "report")
        if failed:
            console.print(f"{counted(failed, 'run')} failed → {again} tries them again")
        typer.echo(str(page))
        if failed:
            raise typer.Exit(FAILED)


def _list(console: Console) -> None:
    from narrows.studies.find import claims, experiments, studies

    rows = [
        [
            name,
            of.title,
            f"{claims(name)[0].CLAIM.id} to {claims(name)[-1].CLAIM.id}",
            len(experiments(name)),
            of.paper.replace("*", ""),
        ]
        for name, of in studies().items()
    ]
    console.print(table(["study", "about", "claims", "experiments", "who claimed it"], rows))


def _say(
    console: Console, name: str, parts: Sequence[Part], engine: Engine, results: Path, jobs: int | None
) -> Pace:
    """Say how many runs, how many of them are there, and about how long the others take on this machine."""
    from narrows.engine import layout
    from narrows.engine.made_here import made_here
    from narrows.engine.pace import Pace, guess_s
    from narrows.plan.model import run_id

    info = engine.info
    runs: dict[str, Plan] = {
        run_id(plan, kernel=info.kernel_id, agent=info.agent_id): plan
        for part in parts
        for plan in part.plans
    }
    folders = [path for path in results.iterdir() if path.is_dir()] if results.is_dir() else []
    missing = [
        plan
        for run, plan in runs.items()
        if not any(layout.is_whole(layout.run_dir(folder, run)) for folder in folders)
    ]
    known = made_here(results)
    pace = Pace(missing, known)
    slots = len(engine.slots(jobs)[: max(1, len(missing))])
    console.print(
        f"{name}: {counted(len(parts), 'experiment')}, {counted(len(runs), 'run')}, "
        f"{len(runs) - len(missing)} there already, {len(missing)} to make"
    )
    if missing:
        left = pace.left_s([], slots)
        basis = (
            "from runs that were made here" if left is not None else "a rough guess: none was made here yet"
        )
        seconds = left if left is not None else sum(map(guess_s, missing)) / slots
        console.print(f"about {duration(seconds)} on {counted(slots, 'core')} of this machine ({basis})")
    return pace


def _make(
    console: Console,
    parts: Sequence[Part],
    engine: Engine,
    results: Path,
    jobs: int | None,
    pace: Pace,
    again: str,
) -> int:
    """Make what is missing, experiment after experiment; how many runs failed."""
    from narrows.engine.runner import Runner
    from narrows.store.finish import FinishPool

    signal.signal(signal.SIGTERM, _terminate)
    states: list[State] = []
    with FinishPool(jobs or len(os.sched_getaffinity(0))) as finish:
        for number, part in enumerate(parts, start=1):
            console.print(f"{number} of {len(parts)}: {part.name}")
            directory = results / part.name
            runner = Runner(engine, part.plans, directory, finish, jobs=jobs)
            states.append(carry_out(console, runner, directory, again, pace))
    return sum(len(state.failed) for state in states)


def _show(console: Console, name: str, claims: Sequence[str], results: Path, out: Path) -> Path:
    """The study's page and verdicts, of all runs of its experiments that are there."""
    from narrows.engine import layout
    from narrows.runs.load import load
    from narrows.studies.find import claims as claims_of
    from narrows.studies.find import experiments
    from narrows.studies.ledger import judge_all
    from narrows.studies.page import build

    places = [results / stem for stem in experiments(name)]
    held = [place for place in places if any(layout.read_manifest(run) for run in place.glob("[!.]*"))]
    runs = [run for place in held for run in load(place)]
    verdicts = judge_all(runs, claims or [module.CLAIM.id for module in claims_of(name)])
    progress = Console(stderr=True, highlight=False)
    with progress.status("drawing") as status:
        built = build(name, runs, verdicts, out, lambda figure: status.update(f"drawing {figure}"))
    print_verdicts(console, verdicts)
    return built.html
