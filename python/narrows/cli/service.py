"""`narrows service list|check|shares`: the services there are, one's own tried alone, and who got what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.format import console as make_console
from narrows.cli.format import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from narrows.comparing.trials import Trial

MOST_REFUSED = 3
HELP = """Services that share a link: list them, check one of your own, see who got what.

\b
  narrows service list                         # what there is
  narrows service check experiments/my_feed    # a service of your own, alone: does it work, and what is wrong
  narrows service shares results/my_pairs      # of trials: each service's share of its max-min fair rate
"""


def register(app: typer.Typer) -> None:
    service = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(service, name="service")

    @service.command("list")
    def list_() -> None:
        """The services that come with narrows, with their options; programs of calls.

        \b
          narrows service list
        """
        from narrows.tools import registry
        from narrows.tools.call import program as call_programs
        from narrows.tools.services.spec import Service

        console = make_console()
        rows = []
        for word in registry.words():
            kind = registry.constructor(word)
            if isinstance(kind, type) and issubclass(kind, Service):
                own = [name for name in kind.options if name not in Service.options]
                rows.append(
                    [word, (kind.__doc__ or "").split("\n\n")[0].replace("\n    ", " "), ", ".join(own)]
                )
        rows.append(["bulk", "Long TCP flows of any congestion control: the plainest service.", "cca, flows"])
        console.print(table(["service", "what it is", "options of its own"], rows))
        programs = []
        for one in call_programs.every():
            codecs = ", ".join(one.codecs) if one.kind == "ends" else ""
            programs.append([one.name, one.program, one.kind, codecs, one.control])
        heads = ["program of calls", "version", "kind", "codecs", "congestion control"]
        console.print(table(heads, programs))
        console.print("of your own: docs/calls.md")
        console.print("a service of your own is a folder: docs/services.md, narrows service check FOLDER")

    @service.command()
    def check(
        folder: Annotated[Path, typer.Argument(help="The service's folder.")],
        seconds: Annotated[int, typer.Option(min=5, max=600, help="How long it is used.")] = 20,
        results: Annotated[Path, typer.Option(help="Where the run is kept.")] = Path("results/service_check"),
    ) -> None:
        """Run a service of your own alone, on a link of 8 Mbit/s, and say whether it works.

        \b
          narrows service check experiments/my_feed

        What is wrong in the folder is one line with file and line number. What it did is printed: its
        figures, its rate at the bottleneck, how many connections carried it, and what the kernel says of the
        sockets through which it sent: congestion control, ECN, MSS, limit of pacing.
        """
        from narrows.checks import service
        from narrows.cli.run import FAILED, simulate
        from narrows.engine import layout

        console = make_console()
        name, plan = folder.resolve().name, service.plan(folder, seconds)
        console.print(f"{name}: its parts can be loaded, and it can be planned")
        directory = results / name
        (run_id,), faults = simulate(
            console, [plan], directory, f"narrows service check {folder}", jobs=1, reuse=False
        )
        if faults:
            if service.NOTHING_CAME in faults[run_id]:
                console.print(service.NO_PACKET)
            console.print(f"it does not work → narrows show {run_id} --dir {directory}")
            raise typer.Exit(FAILED)
        run = layout.run_dir(directory, run_id)
        figures = service.figures(plan, run)
        console.print(table(["figure", "value", "unit"], figures))
        if not figures:
            console.print("it has no figures: its parse.py gives none")
        for line in service.remarks(plan, run):
            console.print(line)
        console.print(f"the run: {run}")
        if refused := service.refused(plan, run):
            for line in refused[:MOST_REFUSED]:
                console.print(f"its server refused: {line}", markup=False)
            console.print("it does not work: what its client asks for is not there")
            raise typer.Exit(FAILED)

    @service.command()
    def shares(
        directory: Annotated[Path, typer.Argument(help="A directory of results with an axis `pair`.")],
    ) -> None:
        """What share of its max-min fair rate each service of a pair got, in the median of valid trials.

        \b
          narrows run own_service
          narrows service shares results/own_service
        """
        from narrows.comparing.trials import trials
        from narrows.errors import UsageError
        from narrows.runs.load import load

        every = trials(load(directory))
        if not every:
            raise UsageError(
                f"no trial is in {directory}", remedy="first, second = pairs({…}): docs/services.md"
            )
        show_shares(make_console(), every)


def show_shares(console: Console, every: Sequence[Trial]) -> None:
    """A table of all pairs, and the trials that do not count."""
    from narrows.comparing.pair_shares import summaries

    rows = [
        [
            " ".join(f"{k}={v}" for k, v in one.conditions), "+".join(one.pair), side.service, one.n,
            *map(_of, (side.rate_mbps, side.low_mbps, side.high_mbps, side.fair_mbps)),
            _percent(side.share), _percent(one.utilisation), _percent(side.loss, 2), _of(side.delay_ms, 0),
        ]
        for one in summaries(every)
        for side in one.sides
    ]  # fmt: skip
    head = [
        "conditions", "pair", "service", "n", "rate [Mbit/s]", "low", "high", "fair [Mbit/s]", "share",
        "link used", "loss", "queueing [ms]",
    ]  # fmt: skip
    console.print(table(head, rows))
    console.print(
        "medians; low and high: 95 % interval of the median rate (from six trials on); fair: the max-min "
        "fair rate, from what each takes alone; rates in the middle three fifths, at the bottleneck"
    )
    invalid = [(trial, fault) for trial in every for fault in trial.faults()]
    for trial, fault in invalid:
        console.print(f"does not count: {trial.run.run_id} ({'+'.join(trial.pair)}): {fault}")


def _of(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f} %"
