"""`narrows quic list|check`: the QUIC stacks there are, and what one of them can do in some short runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.format import console as make_console
from narrows.cli.format import table
from narrows.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.plan.model import Plan

TWICE = "twice"
"""The case that makes the run of another two times."""
OF_TWICE = "rate 10"
HELP = """QUIC stacks as flows: list them, find out what one of them can do.

\b
  narrows quic list                     # what there is, and what a stack.toml of your own may say
  narrows quic check quinn              # 10 MB each way, loss, ECN, a new address, 0.1 to 300 Mbit/s, …
  narrows quic check path/to/mine       # the same of a folder with a stack.toml
"""


def register(app: typer.Typer) -> None:
    quic = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(quic, name="quic")

    @quic.command("list")
    def list_() -> None:
        """The stacks that come with narrows, and the recipes that build others when they are first used.

        \b
          narrows quic list
        """
        from narrows.checks import quic
        from narrows.engine import contents
        from narrows.tools.quic import stack as stacks

        def installed(one: stacks.Stack) -> str:
            """Whether a run can start at once."""
            if lacking := [program for program in one.needs if shutil.which(program) is None]:
                return f"no: needs {', '.join(lacking)}"
            plan = quic.cases()[OF_TWICE].plan(one.name, None)
            return "when first used" if contents.missing([plan]) else "yes"

        console = make_console()
        rows = []
        for one in stacks.every():
            lacks = [name for name in ("flows", "streams", "pause", "ecn", "pacing") if not one.has(name)]
            rows.append(
                [
                    one.name,
                    one.stack,
                    installed(one),
                    ", ".join(one.ccas),
                    ", ".join(one.ways),
                    ", ".join(lacks),
                    one.about,
                ]
            )
        console.print(table(["name", "stack", "installed", "cca", "ways", "no switch for", ""], rows))
        for name, why in stacks.NOT_TO_BE_HAD.items():
            console.print(f"not here: {name}: {why}")
        console.print('quic(stack="quinn", cca="bbr", duration="10 s"); a stack of your own: docs/quic.md')

    @quic.command()
    def check(
        stack: Annotated[str, typer.Argument(metavar="NAME|FOLDER", help="A stack, or a folder of one.")],
        cca: Annotated[str | None, typer.Option(help="Its congestion control.")] = None,
        only: Annotated[str, typer.Option(help="Some of the cases: handshake,ecn")] = "",
        results: Annotated[Path, typer.Option(help="Where the runs are kept.")] = Path("results/quic_check"),
    ) -> None:
        """Run a stack through what a stack should do, and say what it lacks.

        \b
          narrows quic check quinn --cca bbr
          narrows quic check path/to/mine --only handshake,ecn

        Handshake, 10 MB each way, 1 % of loss, ECN behind an AQM that marks, the client's address changing
        behind its back as of a NAT, 0.1 to 300 Mbit/s, and the same run twice, which must be equal to the
        byte. Exit status 1 where something fails; what a stack has not is no failure.
        """
        _check(make_console(), stack, cca, tuple(filter(None, only.split(","))), results)


def _check(console: Console, stack: str, cca: str | None, only: tuple[str, ...], results: Path) -> None:
    from narrows.checks import quic
    from narrows.cli.run import FAILED
    from narrows.tools.quic import stack as stacks

    one = stacks.find(stack, Path.cwd(), "narrows quic check")
    name = stack if stack in stacks.names() else str(one.folder)
    every, directory = quic.cases(), results / one.name
    for word in only:
        if word not in (*every, TWICE):
            raise UsageError(f"there is no case {word}", remedy=did_you_mean(word, (*every, TWICE)))
    found: dict[str, quic.Judged] = {}
    plans: dict[str, Plan] = {}
    for key in [key for key in every if not only or key in only]:
        if lacks := every[key].lacks(one):
            found[key] = "lacks", lacks
        else:
            plans[key] = every[key].plan(name, cca)
    console.print(f"{one.name}: {one.stack}")
    for key, (run, fault) in _runs(console, plans, directory).items():
        found[key] = ("fails", fault) if fault else every[key].judged(run)
    if not only or TWICE in only:
        again = {OF_TWICE: every[OF_TWICE].plan(name, cca)}
        both = [_runs(console, again, directory / word, reuse=False)[OF_TWICE] for word in ("once", "again")]
        fault = next((fault for _, fault in both if fault), None)
        found[TWICE] = ("fails", fault) if fault else quic.equal([run for run, _ in both])
    rows = [[key, *found[key]] for key in (*every, TWICE) if key in found]
    console.print(table(["case", "", ""], rows))
    console.print(f"the runs: {directory}")
    if any(row[1] == "fails" for row in rows):
        raise typer.Exit(FAILED)


def _runs(
    console: Console, plans: dict[str, Plan], directory: Path, *, reuse: bool = True
) -> dict[str, tuple[Path, str | None]]:
    """Each case's run, and why it failed."""
    from narrows.cli.run import simulate
    from narrows.engine import layout
    from narrows.plan.identity import plan_hash

    made, faults = simulate(console, list(plans.values()), directory, "narrows quic check", reuse=reuse)
    ids = {plan_hash(plan): run_id for run_id, plan in made.items()}
    found = {}
    for key, plan in plans.items():
        run_id = ids[plan_hash(plan)]
        fault = faults.get(run_id)
        why = fault and f"{fault.splitlines()[0]} (narrows show {run_id} --dir {directory})"
        found[key] = layout.run_dir(directory, run_id), why
    return found
