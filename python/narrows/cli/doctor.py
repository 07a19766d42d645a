"""`narrows doctor`: whether this host can run guests, or real hosts carry a run, with remedies."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.format import console as make_console
from narrows.cli.format import table

FAILED = 1
WORDS = {True: "ok", False: "bad", None: "note"}


def doctor(
    hosts: Annotated[
        Path | None, typer.Option(metavar="hosts.toml", help="Look at these real hosts, over ssh, instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One check per line, as JSON.")] = False,
) -> None:
    """Say whether this host can run guests, and what mends what is wrong. Changes nothing.

    \b
      narrows doctor                      # exit status 1 if anything is bad
      narrows doctor --json               # for a script: name, ok (null: a note), found, remedy
      narrows doctor --hosts lab.toml     # client, router and server, real ones: docs/machines.md

    A note is no hindrance: it costs speed or a safeguard.
    """
    from narrows.engine import doctor as own
    from narrows.engine.ssh import doctor as real
    from narrows.engine.ssh.hosts import read

    found = list(own.checks() if hosts is None else real.checks(read(hosts)))
    if as_json:
        for one in found:
            typer.echo(json.dumps(asdict(one), ensure_ascii=False))
    else:
        console = make_console()
        console.print(table(["", "what", "found"], [[WORDS[c.ok], c.name, c.found] for c in found]))
        for one in found:
            if one.remedy:
                console.print(f"{WORDS[one.ok]}: {one.name}: {one.found}\n  → {one.remedy}")
    if any(one.ok is False for one in found):
        raise typer.Exit(FAILED)
