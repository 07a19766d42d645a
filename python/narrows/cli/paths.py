"""`narrows paths FILES… --out DIR`: the properties of the paths that packet logs show."""

from pathlib import Path
from typing import Annotated

import typer

from narrows.cli.format import Format
from narrows.errors import UsageError
from narrows.units import NS_PER_S


def paths(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILES…", help="pcap, pcapng, M-Lab's JSON; also .gz, .zst, .xz; - is stdin."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Directory for the tables.")] = None,
    live: Annotated[
        str, typer.Option(metavar="IFACE", help="Capture this interface until Ctrl-C, in place of files.")
    ] = "",
    duration: Annotated[str, typer.Option(help="Of --live: end it after this long.")] = "",
    ends: Annotated[
        bool,
        typer.Option("--ends", help="Two files, the sender's and the receiver's: what happened between."),
    ] = False,
    min_duration: Annotated[str, typer.Option(help="Shorter sessions are not written.")] = "2 min",
    session_gap: Annotated[str, typer.Option(help="The longest pause within a session.")] = "30 s",
    service: Annotated[str, typer.Option(help="What is one service: port, server or all.")] = "port",
    idle: Annotated[str, typer.Option(help="A connection silent for this long is over.")] = "10 min",
    acks: Annotated[bool, typer.Option("--acks", help="Write one row for each ACK, too.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Read logs again that were read before.")] = False,
    joined: Annotated[
        bool,
        typer.Option(
            "--joined", help="All files are pieces of one capture (rotated files are joined by their names)."
        ),
    ] = False,
    keys: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key log (SSLKEYLOGFILE) that opens QUIC's packets.")
    ] = None,
    qlog: Annotated[
        bool, typer.Option("--qlog", help="Write a qlog of each QUIC connection that was opened.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Logs to read at once.")] = 1,
    metadata: Annotated[
        Path | None, typer.Option(help="CSV by client or log: device, network, country, asn, …")
    ] = None,
    by: Annotated[
        str, typer.Option(help="Columns that sessions are grouped by on the page: network,country.")
    ] = "",
    page: Annotated[
        bool, typer.Option("--page", help="Write DIR/report.html, also without --metadata and --by.")
    ] = False,
    devices: Annotated[
        Path | None,
        typer.Option(help="CSV of device, p20_bytes, p80_bytes (else those that come with narrows)."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print the connections.")] = Format.table,
) -> None:
    """Read packet logs: base RTT, queueing delay, ACK aggregation and more, by connection and session.

    What limited whom is said last. UDP, QUIC and RTP are read by conversation; --keys opens QUIC.

    A capture of one of our runs is shown beside the truth that the run recorded. With --page, --metadata
    or --by all of DIR is drawn on one page, DIR/report.html.

    \b
      narrows paths server.pcap --out results/paths
      narrows paths server.pcap --out results/paths --page
      narrows paths *.pcap.gz --out results/paths --jobs 4 --min-duration '30 s'
      zcat big.pcap.gz | narrows paths - --out results/paths
      narrows paths eth0.pcap eth1.pcap --joined --out results/paths
      narrows paths quic.pcapng --keys keys.txt --qlog --out results/paths
      narrows paths --live eth0 --out results/paths --min-duration '5 s'
      narrows paths *.pcap --out results/paths --metadata clients.csv --by network,country
      narrows paths sender.pcap receiver.pcap --ends
    """
    from narrows.cli import paths_show as show
    from narrows.cli.paths_sessions import sessions
    from narrows.paths.live import read_live
    from narrows.paths.read import Settings, read
    from narrows.units import Duration

    if ends:
        if out is not None or live or files is None or len(files) != 2:
            raise UsageError(
                "--ends compares two files and writes nothing",
                remedy="narrows paths SENDERS.pcap RECEIVERS.pcap --ends",
            )
        show.between(files[0], files[1], format)
        return
    if bool(files) == bool(live):
        what = "both files and an interface are named" if live else "no packet log is named"
        raise UsageError(
            what, remedy="narrows paths FILES… --out DIR, or narrows paths --live IFACE --out DIR"
        )
    if duration and not live:
        raise UsageError("--duration is of --live", remedy="leave it out")
    if out is None:
        raise UsageError("no directory for the tables", remedy="--out DIR")
    settings = Settings(
        session_gap_ns=Duration.parse(session_gap).ns,
        min_duration_ns=Duration.parse(min_duration).ns,
        service=service,
        idle_ns=Duration.parse(idle).ns,
        acks=acks,
        again=again,
        joined=joined,
        keys=keys,
        qlog=qlog,
    )
    if live:
        until = f"for {duration}" if duration else "until Ctrl-C"
        outcome, dropped = read_live(
            live,
            out,
            settings,
            duration_s=Duration.parse(duration).ns / NS_PER_S if duration else None,
            started=lambda name: typer.echo(f"{name}: capturing {until}", err=True),
        )
        show.tell(outcome)
        if dropped:
            typer.echo(
                f"  the kernel dropped {dropped} packets before they were read: they count as missing",
                err=True,
            )
        outcomes = [outcome]
    else:
        outcomes = read(files or [], out, settings, jobs=jobs, progress=show.tell)
    read_now = [outcome.name for outcome in outcomes if outcome.error is None]
    if read_now:
        show.connections(out, read_now, format)
        if format is Format.table and any(outcome.has_datagrams for outcome in outcomes):
            show.conversations(out, read_now)
        if keys is not None or qlog:
            show.closed(out, read_now)
        show.limited(out, read_now)
        typer.echo(f"tables: {out}", err=True)
    if page or metadata is not None or by:
        groups = [word.strip() for word in by.split(",") if word.strip()]
        sessions(out, metadata, devices, groups)
    if len(read_now) < len(outcomes):
        raise typer.Exit(1)
