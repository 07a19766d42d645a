"""`narrows shell FILE`: an experiment's topology, with a shell in its client."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.experiment import EXPERIMENT_HELP, asked_of
from narrows.cli.format import key
from narrows.errors import UsageError


def shell(
    file: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help=EXPERIMENT_HELP)],
    only: Annotated[
        str | None, typer.Option(help="Which run's topology: 'queue=fq_codel rate=100Mbit'.")
    ] = None,
) -> None:
    """Give a shell in an experiment's topology.

    \b
      narrows shell hello
      narrows shell FILE --only 'queue=fq_codel'

    The topology is booted in real time, the shell is in its client, and no traffic starts. Other nodes:
    ip netns exec router tc -s qdisc.
    """
    from narrows.engine import layout
    from narrows.engine.uml import UmlEngine

    if not sys.stdin.isatty():
        raise UsageError("a shell needs a terminal", remedy="call it from a terminal, or use narrows run")
    plans = asked_of(file, only).plans
    engine = UmlEngine()
    engine.check(plans[:1])
    typer.echo(f"topology of {key(plans[0].key)}; exit ends it")
    with tempfile.TemporaryDirectory(prefix="narrows-shell-") as directory:
        # Nothing is recorded of what a person tries.
        untapped = tuple(hop.model_copy(update={"tap": "off"}) for hop in plans[0].hops)
        plan = plans[0].model_copy(update={"hops": untapped})
        (Path(directory) / layout.PLAN).write_text(plan.to_json())
        raise typer.Exit(engine.shell(plan, Path(directory)))
