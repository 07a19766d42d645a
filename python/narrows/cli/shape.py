"""`narrows shape`: becomes the shaper, which needs no Python."""

import os
from typing import Annotated, NoReturn

import typer

WAN_HELP = "The interface towards the ISP."


def register(app: typer.Typer) -> None:
    shape = typer.Typer(
        help="Keep the bottleneck at home while the ISP's rate moves (docs/shape.md). Root.",
        no_args_is_help=True,
        rich_markup_mode=None,
    )

    @shape.command()
    def run(
        wan: Annotated[str, typer.Option(metavar="IFACE", help=WAN_HELP)],
        ifb: Annotated[
            str | None, typer.Option(metavar="IFACE", help="The IFB with CAKE; default: ifb4 and the former.")
        ] = None,
        only: Annotated[str | None, typer.Option(help="down or up: leave the other way alone.")] = None,
        share: Annotated[int, typer.Option(help="Percent of the ISP's rate, when that is met.")] = 95,
        probe: Annotated[
            str | None,
            typer.Option(
                metavar="PLACES",
                help="HOST:PORT (TCP) or HOST (ICMP), with commas: asked where no traffic tells a delay.",
            ),
        ] = None,
        on_stop: Annotated[str, typer.Option(help="What CAKE is left at: last or earlier.")] = "last",
        log: Annotated[str | None, typer.Option(metavar="FILE", help="JSON lines; default: stdout.")] = None,
        every_ms: Annotated[int, typer.Option(help="How often a line is written.")] = 1000,
    ) -> None:
        """Set CAKE's bandwidth from what passes, until Ctrl-C or SIGTERM.

        \b
          narrows tune --wan eth0 --server iperf3://192.0.2.7   # puts CAKE there
          narrows shape run --wan eth0
          narrows shape run --wan eth0 --only down --probe 192.0.2.7:443
        """
        from narrows.plan.lowering import switches

        usual = {"wan": wan, "share": share, "on-stop": on_stop, "every-ms": every_ms}
        given = {"ifb": ifb, "only": only, "probe": probe, "log": log}
        become(["run", *switches(usual), *switches({k: v for k, v in given.items() if v is not None})])

    @shape.command()
    def status(wan: Annotated[str, typer.Option(metavar="IFACE", help=WAN_HELP)]) -> None:
        """Say what the shaper of an interface does, as one line of JSON.

        \b
          narrows shape status --wan eth0
        """
        become(["status", "--wan", wan])

    app.add_typer(shape, name="shape")


def become(words: list[str]) -> NoReturn:
    """Python is gone from here on."""
    from narrows.engine import agent_binary

    path, _ = agent_binary.find()
    os.execv(path, [str(path), "shape", *words])
