"""What `narrows paths` prints: what became of each log, the connections, and both ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narrows.cli import format as formats
from narrows.cli.format import Format
from narrows.units import NS_PER_MS

if TYPE_CHECKING:
    from narrows.paths.read import Outcome

SHOWN = 20
SENTENCES = 8


def tell(outcome: Outcome) -> None:
    """What became of one log, on stderr: stdout is for the connections."""
    from narrows.cli.main import print_error

    if outcome.error is not None:
        print_error(outcome.error)
        return
    if outcome.skipped:
        typer.echo(f"{outcome.log}: read before (--again reads it again)", err=True)
        return
    summary, counts = outcome.summary or {}, outcome.counts
    if not outcome.is_of_packets:
        typer.echo(
            f"{outcome.log}: {summary['container']['format']},"
            f" {formats.counted(summary['connections'], 'connection')},"
            f" {formats.counted(summary['snapshots'], 'snapshot')} of TCP_INFO",
            err=True,
        )
        _oddities(outcome)
        return
    pieces = summary["container"]["files"]
    joined = f" and {formats.counted(pieces - 1, 'other file')}" if pieces > 1 else ""
    typer.echo(
        f"{outcome.log}{joined}: {counts['packets']} packets, {counts['tcp']} of TCP, {counts['udp']} of UDP;"
        f" {formats.counted(summary['conversations'], 'conversation')} of UDP,"
        f" {formats.counted(summary['connections'], 'connection')},"
        f" {formats.counted(summary['sessions'], 'session')}"
        f" ({summary['sessions_too_short']} too short)",
        err=True,
    )
    _oddities(outcome)


def _oddities(outcome: Outcome) -> None:
    """Damage, and what was not used."""
    counts = outcome.counts
    if outcome.damage:
        typer.echo(f"  damaged: {outcome.damage}", err=True)
    if outcome.summary and outcome.summary["sorted"]:
        typer.echo(f"  {outcome.summary['sorted']} stood behind later ones and were sorted", err=True)
    for kind, what in (("not_tcp", "not used"), ("odd", "odd"), ("blocks", "other blocks")):
        if counts[kind]:
            listing = ", ".join(f"{name}: {count}" for name, count in counts[kind].items())
            typer.echo(f"  {what}: {listing}", err=True)


def connections(out: Path, names: Sequence[str], format: Format) -> None:
    """The connections of these logs, those with most payload first; then those of which there are snapshots.
    For machines both would be two documents, so with any packets these alone are printed."""
    import polars as pl

    from narrows.paths import tables

    order = {"connections": ["log", "connection"], "snapshots": ["log", "source"]}
    found = {}
    for table, then in order.items():
        if any((out / table).glob("*.parquet")):
            rows = tables.scan(out, table).filter(pl.col("log").is_in(names))
            rows = rows.sort("payload_bytes", *then, descending=[True, False, False], nulls_last=True)
            found[table] = rows.collect()
    packets = found.get("connections")
    only_udp = format is Format.table and any((out / "udp").glob("*.parquet"))
    if packets is not None and (packets.height or ("snapshots" not in found and not only_udp)):
        _show(
            packets.head(SHOWN if format is Format.table else packets.height).to_dicts(),
            packets.height,
            format,
        )
    snapshots = found.get("snapshots")
    if (
        snapshots is not None
        and snapshots.height
        and (format is Format.table or not (packets is not None and packets.height))
    ):
        _show_snapshots(
            snapshots.head(SHOWN if format is Format.table else snapshots.height).to_dicts(),
            snapshots.height,
            format,
        )


def conversations(out: Path, names: Sequence[str]) -> None:
    """The UDP conversations of these logs, those with most payload first, and the streams of RTP in them."""
    import polars as pl

    from narrows.paths import tables
    from narrows.paths.conversations import sentences

    rows = tables.scan(out, "udp").filter(pl.col("log").is_in(names))
    udp = rows.sort("payload_bytes", "log", "conversation", descending=[True, False, False]).collect()
    if not udp.height:
        return
    lines = [
        [
            row["log"],
            row["conversation"],
            f"{row['client']}:{row['client_port']} {row['server']}:{row['server_port']}",
            row["server_name"] or row["protocol"],
            row["datagrams"],
            None if row["throughput_bps"] is None else row["throughput_bps"] / 1e6,
            _ms(row["longest_gap_ns"]),
            row["ce_marked"],
            _ms(row["handshake_rtt_ns"]),
            _ms(row["spin_rtt_median_ns"]),
            _ms(row["rtt_median_ns"]),
            row["lost_packets"],
            row["resent_bytes"],
        ]
        for row in udp.head(SHOWN).to_dicts()
    ]
    headings = [
        *("log", "conversation", "client_and_server", "what", "datagrams", "throughput_mbit_s"),
        *("longest_gap_ms", "ce_marked", "handshake_rtt_ms", "spin_rtt_ms", "rtt_to_receiver_ms", "lost"),
        "resent_bytes",
    ]
    formats.show(formats.console(), Format.table, headings, lines)
    if udp.height > SHOWN:
        typer.echo(f"the {SHOWN} conversations with most payload of {udp.height}", err=True)
    for sentence in sentences(udp, SENTENCES):
        typer.echo(f"udp: {sentence}", err=True)
    streams = tables.scan(out, "rtp").filter(pl.col("log").is_in(names)).sort("log", "conversation").collect()
    if streams.height:
        _show_streams(streams.head(SHOWN).to_dicts(), streams.height)


def closed(out: Path, names: Sequence[str]) -> None:
    """Say where secrets were wanted and no QUIC connection was opened by any."""
    import polars as pl

    from narrows.paths import tables

    rows = tables.scan(out, "udp").filter(pl.col("log").is_in(names)).collect()
    quic = rows.filter(pl.col("protocol") == "quic")
    opened = quic.filter(pl.col("opened_packets") > 0).height
    if not opened:
        typer.echo(
            f"no secret opened any of {formats.counted(quic.height, 'QUIC connection')}: whole packets"
            " from the first one on are needed, and the key log of these very connections",
            err=True,
        )


def _show_streams(rows: list[dict[str, Any]], count: int) -> None:
    lines = [
        [
            row["log"],
            row["conversation"],
            row["sender"],
            f"{row['ssrc']:#010x}",
            row["clock_hz"],
            row["packets"],
            row["lost_packets"],
            row["reordered_packets"],
            _ms(row["jitter_ns"]),
            row["frames"],
            _ms(row["frame_gap_p95_ns"]),
        ]
        for row in rows
    ]
    headings = [
        *("log", "conversation", "sender", "ssrc", "clock_hz", "packets", "lost", "reordered", "jitter_ms"),
        *("frames", "frame_gap_p95_ms"),
    ]
    formats.show(formats.console(), Format.table, headings, lines)
    if len(rows) < count:
        typer.echo(f"the first {len(rows)} streams of {count}", err=True)


def limited(out: Path, names: Sequence[str]) -> None:
    """What limited whom, and what links below IP do, in sentences."""
    import polars as pl

    from narrows.paths import below_ip, limits, tables

    if any((out / "connections").glob("*.parquet")):
        rows = tables.scan(out, "connections").filter(pl.col("log").is_in(names)).collect()
        for sentence in limits.sentences(rows, SENTENCES):
            typer.echo(f"limited: {sentence}", err=True)
        for sentence in below_ip.sentences(rows, SENTENCES):
            typer.echo(f"below IP: {sentence}", err=True)


def _show_snapshots(rows: list[dict[str, Any]], count: int, format: Format) -> None:
    lines = [
        [
            row["log"],
            row["source"],
            row["client"],
            row["snapshots"],
            _ms(row["base_rtt_ns"]),
            _ms(row["smoothed_queueing_delay_ns"]),
            None if row["throughput_bps"] is None else row["throughput_bps"] / 1e6,
            row["retransmitted_share"],
            row["cca"],
        ]
        for row in rows
    ]
    headings = [
        *("log", "source", "client", "snapshots", "base_rtt_ms", "smoothed_queue_ms", "throughput_mbit_s"),
        *("retransmitted_share", "cca"),
    ]
    formats.show(formats.console(), format, headings, lines)
    if len(rows) < count:
        typer.echo(f"the {len(rows)} with most payload of {count}", err=True)


def between(sender: str, receiver: str, format: Format) -> None:
    from narrows.paths.ends import compare

    row = asdict(compare(sender, receiver))
    formats.show(formats.console(), format, list(row), [list(row.values())])


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
            row["limited_by"],
            row["notes"],
        ]
        lines.append(line)
    headings = [
        *("log", "connection", "captured_at", "base_rtt_ms", "true_base_rtt_ms", "peak_queue_ms"),
        *("true_peak_queue_ms", "true_peak_queue_of_acks_ms", "ack_mss", "throughput_mbit_s"),
        *("retransmitted", "true_drops", "limited_by", "notes"),
    ]
    formats.show(formats.console(), format, headings, lines)
    if len(rows) < count:
        typer.echo(f"the {len(rows)} connections with most payload of {count}", err=True)


def _ms(value_ns: float | None) -> float | None:
    return None if value_ns is None else round(value_ns / NS_PER_MS, 6)
