"""`narrows paths FILES… --out DIR`: the properties of the paths that packet logs show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.cli import format as formats
from narrows.cli.format import Format

if TYPE_CHECKING:
    from narrows.paths.read import Outcome

SHOWN = 20
NS_PER_MS = 1e6


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def paths(
        files: Annotated[
            list[str],
            typer.Argument(metavar="FILES…", help="pcap or pcapng, also .gz, .zst, .xz; - is stdin."),
        ],
        out: Annotated[Path, typer.Option(metavar="DIR", help="Directory for the tables.")],
        min_duration: Annotated[str, typer.Option(help="Shorter sessions are not written.")] = "2 min",
        session_gap: Annotated[str, typer.Option(help="The longest pause within a session.")] = "30 s",
        service: Annotated[str, typer.Option(help="What is one service: port, server or all.")] = "port",
        idle: Annotated[str, typer.Option(help="A connection silent for this long is over.")] = "10 min",
        acks: Annotated[bool, typer.Option("--acks", help="Write one row for each ACK, too.")] = False,
        again: Annotated[
            bool, typer.Option("--again", help="Read logs again that were read before.")
        ] = False,
        jobs: Annotated[int, typer.Option(min=1, help="Logs to read at once.")] = 1,
        metadata: Annotated[
            Path | None,
            typer.Option(help="CSV by client or log: device, network, country, asn, …"),
        ] = None,
        devices: Annotated[
            Path | None,
            typer.Option(help="CSV of device, p20_bytes, p80_bytes (else those that come with narrows)."),
        ] = None,
        format: Annotated[Format, typer.Option(help="How to print the connections.")] = Format.table,
    ) -> None:
        """Read packet logs: base RTT, queueing delay, ACK aggregation and more, by connection and session.

        A capture of one of our runs is shown beside the truth that the run recorded.

        \b
          narrows paths server.pcap --out results/paths
          narrows paths *.pcap.gz --out results/paths --jobs 4 --min-duration '30 s'
          zcat big.pcap.gz | narrows paths - --out results/paths
          narrows paths results/hello/*/raw/*.pcapng --out results/paths
        """
        import polars as pl

        from narrows.paths import tables
        from narrows.paths.read import Settings, read
        from narrows.units import Duration

        settings = Settings(
            session_gap_ns=Duration.parse(session_gap).ns,
            min_duration_ns=Duration.parse(min_duration).ns,
            service=service,
            idle_ns=Duration.parse(idle).ns,
            acks=acks,
            again=again,
        )
        outcomes = read(files, out, settings, jobs=jobs, progress=_tell)
        read_now = [outcome for outcome in outcomes if outcome.error is None]
        if read_now:
            names = [tables.full_name(outcome.log) for outcome in read_now]
            rows = (
                tables.scan(out, "connections")
                .filter(pl.col("log").is_in(names))
                .sort("payload_bytes", "log", "connection", descending=[True, False, False])
            )
            count = rows.select(pl.len()).collect().item()
            _show(rows.head(SHOWN if format is Format.table else count).collect().to_dicts(), count, format)
            typer.echo(f"tables: {out}", err=True)
        if metadata is not None:
            _judge(out, metadata, devices)
        if len(read_now) < len(outcomes):
            raise typer.Exit(1)


def _tell(outcome: Outcome) -> None:
    """What became of one log, on stderr: stdout is for the connections."""
    from narrows.cli.main import print_error

    if outcome.error is not None:
        print_error(outcome.error)
        return
    if outcome.skipped:
        typer.echo(f"{outcome.log}: read before (--again reads it again)", err=True)
        return
    summary, counts = outcome.summary or {}, outcome.counts
    typer.echo(
        f"{outcome.log}: {counts['packets']} packets, {counts['tcp']} of TCP;"
        f" {formats.counted(summary['connections'], 'connection')},"
        f" {formats.counted(summary['sessions'], 'session')}"
        f" ({summary['sessions_too_short']} too short)",
        err=True,
    )
    if outcome.damage:
        typer.echo(f"  damaged: {outcome.damage}", err=True)
    for kind, what in (("not_tcp", "not used"), ("odd", "odd"), ("blocks", "other blocks")):
        if counts[kind]:
            listing = ", ".join(f"{name}: {count}" for name, count in counts[kind].items())
            typer.echo(f"  {what}: {listing}", err=True)


def _show(rows: list[dict[str, Any]], count: int, format: Format) -> None:
    """The connections with most payload, each with the truth when it is one of our runs."""
    from narrows.paths.truth import of_capture

    lines = []
    for row in rows:
        sender = row[row["sender"]]
        truth = of_capture(Path(row["log"]), sender)
        mbit = None if row["throughput_bps"] is None else row["throughput_bps"] / 1e6
        name = f"{truth.run_id} {truth.capture}" if truth else row["log"]
        line = [
            name,
            row["connection"],
            row["vantage"],
            _ms(row["base_rtt_ns"]),
            _ms(truth.base_rtt_ns) if truth else None,
            _ms(row["peak_queueing_delay_ns"]),
            _ms(truth.peak_sojourn_ns) if truth else None,
            _ms(truth.peak_sojourn_back_ns) if truth else None,
            row["ack_aggregation"],
            mbit,
            row["retransmitted_segments"],
            truth.drops if truth else None,
            row["notes"],
        ]
        lines.append(line)
    headings = [
        *("log", "connection", "captured_at", "base_rtt_ms", "true_base_rtt_ms", "peak_queue_ms"),
        *("true_peak_queue_ms", "true_peak_queue_of_acks_ms", "ack_mss", "throughput_mbit_s"),
        *("retransmitted", "true_drops", "notes"),
    ]
    formats.show(formats.console(), format, headings, lines)
    if len(rows) < count:
        typer.echo(f"the {len(rows)} connections with most payload of {count}", err=True)


def _ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else round(value_ns / NS_PER_MS, 6)


def _judge(out: Path, metadata: Path, devices: Path | None) -> None:
    """All sessions of the directory with what the CSV knows: proxies, busy hours, and `judged.parquet`."""
    from narrows.paths import busy_hours, proxies, tables
    from narrows.paths import metadata as known

    sessions = known.join(tables.load(out, "sessions"), metadata)
    if {"device", "asn"} <= set(sessions.columns):
        classes = proxies.DeviceClasses.from_csv(devices) if devices else None
        sessions = proxies.judge(sessions, classes)
        judged = sessions["proxied"].drop_nulls()
        typer.echo(
            f"proxies: {int(judged.sum())} of {formats.counted(len(judged), 'session')} that can be judged,"
            f" of {len(sessions)}",
            err=True,
        )
    else:
        typer.echo("proxies: not judged; the metadata has no columns device and asn", err=True)
    if set(busy_hours.NEEDED) <= set(sessions.columns):
        tests = busy_hours.busy_hours(sessions)
        pairs = {(test.country, test.network) for test in tests}
        typer.echo(
            f"busy hours: {formats.counted(len(pairs), 'pair')} of country and network with at least"
            f" {busy_hours.LEAST_QUIET} sessions in the quiet window",
            err=True,
        )
        for test in tests:
            if test.significant:
                holm = "" if test.significant_holm else ", not with Holm's correction"
                typer.echo(
                    f"  {test.country} {test.network}: busy hours add over {test.shift_ms} ms"
                    f" (p {test.p:.2g}, effect {test.effect:.2f}{holm})",
                    err=True,
                )
    else:
        typer.echo("busy hours: not tested; the metadata lacks country, network or utc_offset_h", err=True)
    file = out / "judged.parquet"
    sessions.write_parquet(file)
    typer.echo(f"sessions with metadata: {file}", err=True)
