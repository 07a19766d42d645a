"""`narrows doctor`: whether this host can run guests, with remedies."""

from __future__ import annotations

import json
from dataclasses import asdict

import typer

from narrows.cli.format import console as make_console
from narrows.cli.format import table

FAILED = 1
WORDS = {True: "ok", False: "bad", None: "note"}


def register(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(as_json: bool = typer.Option(False, "--json", help="One check per line, as JSON.")) -> None:
    """Say whether this host can run guests, and what mends what is wrong. Changes nothing.

    \b
      narrows doctor                      # exit status 1 if anything is bad
      narrows doctor --json               # for a script: name, ok (null: a note), found, remedy
      narrows run hello                   # the proof

    A note is no hindrance: it costs speed or a safeguard.
    """
    from narrows.engine.doctor import checks

    found = list(checks())
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
