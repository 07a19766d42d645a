"""`narrows whatif CAPTURE… --cca bbr`: one thing changed on the path that a capture shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.format import Format
from narrows.cli.format import console as make_console
from narrows.errors import NarrowsError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from narrows.plan.model import Plan
    from narrows.whatif.session import Answer, Make
    from narrows.whatif.written import Change

CANNOT = 3


def whatif(
    captures: Annotated[
        list[Path], typer.Argument(metavar="CAPTURE…", help="pcap or pcapng of the sender; also .gz, .zst.")
    ],
    cca: Annotated[str | None, typer.Option(help="Another congestion control: bbr, cubic, reno, …")] = None,
    queue: Annotated[
        str | None, typer.Option(help="Another queue, as an experiment writes it: cake, 'codel(ecn=True)'.")
    ] = None,
    buffer: Annotated[
        str | None, typer.Option(help="A drop-tail buffer: '20 ms', '100 KB', or '50 %' of what it was.")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="Another rate: '50 Mbit/s', or '90 %' of it.")] = None,
    rtt: Annotated[str | None, typer.Option(help="Another base RTT (another server): '20 ms'.")] = None,
    ecn: Annotated[bool, typer.Option("--ecn", help="The flows negotiate ECN.")] = False,
    sysctl: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="Of the sender; may be given again.")
    ] = None,
    host_qdisc: Annotated[str | None, typer.Option(help="On the sender's interface: fq.")] = None,
    kernel: Annotated[str | None, typer.Option(help="Another Linux, as built: 6.12.")] = None,
    stack: Annotated[
        str | None, typer.Option(help="A QUIC stack in the place of TCP: quinn, …; narrows quic list.")
    ] = None,
    was: Annotated[str | None, typer.Option(help="What is known of it: cca=cubic.")] = None,
    fit: Annotated[
        bool, typer.Option("--fit", help="Write the path as an experiment to read and edit, and stop.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Show a prediction that the capture does not carry, marked.")
    ] = False,
    draws: Annotated[int, typer.Option(min=8, help="Draws from the intervals of what is known.")] = 12,
    jobs: Annotated[int | None, typer.Option(min=1, help="Guests at once; default: one per core.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where runs and page go.")] = Path(
        "results/whatif"
    ),
    engine: Annotated[str, typer.Option(help="As for narrows run.")] = "uml",
    format: Annotated[Format, typer.Option(help="How to print the differences.")] = Format.table,
) -> None:
    """Say what one change would do on the path of a capture: first run as it was, then with the change.

    The capture is of the sender. Its path (rate, base RTT, queue, losses) and what its application gave
    are fitted from the packets and run on the real stack. Only where the run as it was comes out as the
    capture did, is the change predicted; else it says why the capture cannot answer (exit status 3).

    \b
      narrows whatif upload.pcap --fit
      narrows whatif upload.pcap --cca bbr
      narrows whatif server/*.pcap.gz --cca bbr --host-qdisc fq --out results/fleet
      narrows whatif mine.pcap --queue cake --rate '90 %'
      narrows whatif mine.pcap --sysctl net.ipv4.tcp_notsent_lowat=16384
    """
    from narrows.whatif.change import checked, was_cca
    from narrows.whatif.session import Session
    from narrows.whatif.written import Change

    asked = Change(cca, queue, buffer, rate, rtt, ecn, (), host_qdisc, kernel, stack)
    change = checked(asked, sysctl or [])
    if fit == bool(change.words()):
        raise UsageError(
            "--fit changes nothing" if fit else "nothing is changed",
            remedy="--fit alone, or one change such as --cca bbr, --queue cake, --rate '90 %'",
        )
    known = was_cca(was)
    if missing := [file for file in captures if not file.is_file()]:
        raise UsageError(f"{missing[0]} is no file", remedy="name captures that are there")
    console = make_console()
    make = maker(engine, jobs)
    folders = _folders(captures, out)
    answers: list[Answer] = []
    refused: list[tuple[Path, NarrowsError]] = []
    for log, folder in zip(captures, folders, strict=True):
        try:
            session = Session(log, folder, read_captures, make, known)
            if fit:
                console.print(f"{log}: the path as an experiment: {session.write_fit()}", markup=False)
                continue
            answers.append(session.answer(change, draws, anyway))
        except NarrowsError as error:
            if len(captures) == 1:
                raise
            refused.append((log, error))
    for log, why in refused:
        typer.echo(f"{log}: left out: {why.message}", err=True)
    if fit:
        raise typer.Exit(1 if refused else 0)
    _say(answers, change, out, format)
    if not any(answer.differences for answer in answers):
        raise typer.Exit(CANNOT)


def _folders(captures: Sequence[Path], out: Path) -> list[Path]:
    """A directory for each capture, by its name; of one capture OUT itself."""
    if len(captures) == 1:
        return [out]
    names = [file.name.partition(".")[0] or "capture" for file in captures]
    return [out / (name if names.count(name) == 1 else f"{name}-{n}") for n, name in enumerate(names)]


def read_captures(logs: Sequence[Path], out: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables of captures; those that cannot be read are an error."""
    import polars as pl

    from narrows.paths.read import Settings, read
    from narrows.paths.tables import full_name, scan

    for outcome in read(list(logs), out, Settings(min_duration_ns=1, acks=True)):
        if outcome.error is not None:
            raise outcome.error
    mine = pl.col("log").is_in([full_name(str(log)) for log in logs])
    connections, acks = (scan(out, name).filter(mine).collect() for name in ("connections", "acks"))
    return connections, acks


def maker(engine: str, jobs: int | None) -> Make:
    """Makes runs as narrows run does, and says how it goes on stderr."""

    def make(plans: list[Plan], directory: Path) -> tuple[Mapping[str, Plan], Mapping[str, str]]:
        from narrows.cli.run import simulate

        console = make_console()
        console.stderr = True
        return simulate(console, plans, directory, "narrows whatif", jobs=jobs, engine=engine)

    return make


def _say(answers: Sequence[Answer], change: Change, out: Path, format: Format) -> None:
    from narrows.cli.format import show
    from narrows.whatif.page import page
    from narrows.whatif.said import HEADINGS, of_many, of_one, rows

    console = make_console()
    every = [row for answer in answers for row in rows(answer)]
    if every or format is not Format.table:
        show(console, format, HEADINGS, every)
    for answer in answers:
        typer.echo(of_one(answer, change), err=format is not Format.table)
    for line in of_many(answers, change) if len(answers) > 1 else []:
        typer.echo(line, err=format is not Format.table)
    out.mkdir(parents=True, exist_ok=True)
    (out / "page.html").write_text(page(answers, change), encoding="utf-8")
    typer.echo(f"page: {out / 'page.html'}", err=True)
