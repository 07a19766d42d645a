"""`narrows identify SERVER`: what is the queue that I cannot see?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.cli.format import Format, console, key, show
from narrows.errors import StoreError, UsageError

if TYPE_CHECKING:
    from narrows.tools.identify.records import Report

WAYS = ("down", "up")
MODES = ("whole", "quick")
"""As `identify(mode=…)` of an experiment has them."""
HEADINGS = ("way", "what", "answer", "sure", "from")


def identify(
    target: Annotated[
        str,
        typer.Argument(
            metavar="SERVER|DIR|FILE",
            help="HOST[:PORT] of an identify-server; or runs with identify(), or a kept report.json.",
        ),
    ],
    token: Annotated[str | None, typer.Option(help="The word that the server was started with.")] = None,
    mode: Annotated[
        str, typer.Option(help="whole, or quick: 10 s, no ECN, no classes, 10 of the 64 code points.")
    ] = "whole",
    ways: Annotated[str, typer.Option(help="down, up or down,up.")] = "down,up",
    most: Annotated[str, typer.Option(help="Nothing is sent faster than this.")] = "2 Gbit/s",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write report.json, answers.json and page.html here.")
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print the answers.")] = Format.table,
) -> None:
    """Say what the bottleneck's queue is: rate, buffer, AQM, queues of flows, the discipline.

    It sends and receives probe trains for at most 60 s, without root. On the other host, which may be
    any: narrows-agent identify-server --listen 0.0.0.0:24603 --token WORD. Each answer says how sure it
    is and from what; what the probes do not show is "cannot tell", with the reason.

    \b
      narrows identify server.example.org --token WORD --out results/my-line
      narrows identify 192.0.2.7:24603 --mode quick --ways down
      narrows identify results/line            # runs of an experiment with identify(), beside their truth
      narrows identify results/my-line/report.json --format json
    """
    path = Path(target)
    if path.is_dir():
        _runs(path, format)
        return
    if path.is_file():
        _say(_read(path.read_text(), str(path)), out, format, None)
        return
    if "/" in target:
        raise UsageError(
            f"{target}: there is no such file or directory", remedy="narrows list shows what there is"
        )
    chosen = [word.strip() for word in ways.split(",")]
    if unknown := [word for word in chosen if word not in WAYS]:
        raise UsageError(f"--ways: {unknown[0]!r} is neither down nor up", remedy="--ways down,up")
    if mode not in MODES:
        raise UsageError(f"--mode: {mode!r} is neither whole nor quick", remedy="--mode quick")
    if out is not None and (out / "report.json").exists():
        raise UsageError(f"{out} holds a report already", remedy="another --out, or remove it")
    text = _probe(target, mode, chosen, token, most)
    _say(_read(text, target), out, format, text)


def _probe(server: str, mode: str, ways: list[str], token: str | None, most: str) -> str:
    from narrows.line.identify import probe
    from narrows.units import Rate

    most_mbit = Rate.parse(most).bps // 1_000_000
    if most_mbit < 1:
        raise UsageError(f"--most {most}: at least 1 Mbit/s")
    typer.echo(f"{mode} mode, {'10' if mode == 'quick' else 'at most 60'} s", err=True)
    typer.echo(probe.cost_text(mode, len(ways)), err=True)
    return probe.run(server, mode, ways, token, most_mbit, lambda line: typer.echo(f"  {line}", err=True))


def _read(text: str, where: str) -> Report:
    from narrows.tools.identify import records

    try:
        return records.read(text)
    except records.NoRecords as error:
        raise StoreError(str(error), where=where) from None


def _say(report: Report, out: Path | None, format: Format, text: str | None) -> None:
    from narrows.line.identify import answers
    from narrows.line.identify.page import page

    found = answers.verdicts(report)
    if format is Format.json:
        typer.echo(json.dumps(answers.as_json(report, found), indent=1))
    else:
        lines = [[verdict.way, *row] for verdict in found for row in answers.rows(report, verdict)]
        show(console(), format, HEADINGS, lines)
    for note in report.notes:
        typer.echo(note, err=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        if text is not None:
            (out / "report.json").write_text(text)
        (out / "answers.json").write_text(json.dumps(answers.as_json(report, found), indent=1) + "\n")
        (out / "page.html").write_text(page(report, found, f"The queue before {report.server}"))
        typer.echo(f"page: {out / 'page.html'}", err=True)


def _runs(directory: Path, format: Format) -> None:
    """The answers of runs with identify(), beside the queue that each had."""
    from narrows.line.identify import answers
    from narrows.runs.plans import read_plan
    from narrows.store.command_run import read_text

    lines: list[list[Any]] = []
    for file in sorted(directory.glob("*/plan.json")):
        plan = read_plan(file.parent)
        for item in plan.traffic:
            if getattr(item, "tool", None) != "identify":
                continue
            report = _read(read_text(file.parent / "raw", f"{item.id}.stdout"), file.parent.name)
            for verdict in answers.verdicts(report):
                answer = verdict.discipline
                truth = plan.key.get("queue") or key(plan.key)
                lines.append(
                    [file.parent.name, truth, verdict.way, answer.value or answers.CANNOT, answer.why]
                )
    if not lines:
        raise StoreError(
            "no run with identify() in it",
            where=str(directory),
            remedy="narrows run FILE, with test = identify()",
        )
    show(console(), format, ("run", "truth", "way", "answer", "from"), lines)
