"""`narrows quic list|check`: the QUIC stacks there are, and what one of them can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.format import console as make_console
from narrows.cli.format import table

HELP = """QUIC stacks as flows: list them, find out what one of them can do.

\b
  narrows quic list                     # what there is, and what a stack.toml of your own may say
  narrows quic check quinn              # 10 MB each way, loss, ECN, a new address, 0.1 to 300 Mbit/s, …
  narrows quic check path/to/mine       # the same of a folder with a stack.toml
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    quic = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
    app.add_typer(quic, name="quic")

    @quic.command("list")
    def list_() -> None:
        """The stacks that come with narrows, and the recipes that build others when they are first used.

        \b
          narrows quic list
        """
        from narrows.tools.quic import stack as stacks

        console = make_console()
        rows = []
        for one in stacks.every():
            lacks = [name for name in ("flows", "streams", "pause", "ecn", "pacing") if not one.has(name)]
            rows.append(
                [one.name, one.stack, ", ".join(one.ccas), ", ".join(one.ways), ", ".join(lacks), one.about]
            )
        console.print(table(["name", "stack", "cca", "ways", "no switch for", ""], rows))
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
        from narrows.cli.quic_check import check as carry_out

        carry_out(make_console(), stack, cca, tuple(filter(None, only.split(","))), results)
