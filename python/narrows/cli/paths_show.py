"""What `narrows paths` prints: what became of each log, the connections, and both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from narrows.cli import format as formats
from narrows.cli.format import Format
from narrows.units import NS_PER_MS

if TYPE_CHECKING:
    import polars as pl

    from narrows.paths.read import Outcome

SHOWN = 20
SENTENCES = 8
Columns = Mapping[str, str | Callable[[Mapping[str, Any]], Any]]
"""Of a printed table: the key of each in the rows, or what it is made of."""
CONNECTIONS: Columns = {
    "log": "log", "connection": "connection", "captured_at": "vantage", "base_rtt_ms": "base_rtt_ns",
    "true_base_rtt_ms": "true_base_rtt_ns", "peak_queue_ms": "peak_queueing_delay_ns",
    "true_peak_queue_ms": "true_peak_sojourn_ns", "true_peak_queue_of_acks_ms": "true_peak_sojourn_back_ns",
    "ack_mss": "ack_aggregation", "throughput_mbit_s": "throughput_bps",
    "retransmitted": "retransmitted_segments", "true_drops": "true_drops", "limited_by": "limited_by",
    "notes": "notes",
}  # fmt: skip
SNAPSHOTS: Columns = {
    "log": "log", "source": "source", "client": "client", "snapshots": "snapshots",
    "base_rtt_ms": "base_rtt_ns", "smoothed_queue_ms": "smoothed_queueing_delay_ns",
    "throughput_mbit_s": "throughput_bps", "retransmitted_share": "retransmitted_share", "cca": "cca",
}  # fmt: skip
CONVERSATIONS: Columns = {
    "log": "log", "conversation": "conversation",
    "client_and_server": lambda row: "{client}:{client_port} {server}:{server_port}".format(**row),
    "what": lambda row: row["server_name"] or row["protocol"], "datagrams": "datagrams",
    "throughput_mbit_s": "throughput_bps", "longest_gap_ms": "longest_gap_ns", "ce_marked": "ce_marked",
    "handshake_rtt_ms": "handshake_rtt_ns", "spin_rtt_ms": "spin_rtt_median_ns",
    "rtt_to_receiver_ms": "rtt_median_ns", "lost": "lost_packets", "resent_bytes": "resent_bytes",
}  # fmt: skip
STREAMS: Columns = {
    "log": "log", "conversation": "conversation", "sender": "sender",
    "ssrc": lambda row: f"{row['ssrc']:#010x}", "clock_hz": "clock_hz", "packets": "packets",
    "lost": "lost_packets", "reordered": "reordered_packets", "jitter_ms": "jitter_ns", "frames": "frames",
    "frame_gap_p95_ms": "frame_gap_p95_ns",
}  # fmt: skip


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
    packets, snapshots = found.get("connections"), found.get("snapshots")
    only_udp = format is Format.table and any((out / "udp").glob("*.parquet"))
    if packets is not None and (packets.height or ("snapshots" not in found and not only_udp)):
        _show(packets, CONNECTIONS, "the {} connections with most payload of {}", format)
    alone = packets is None or not packets.height
    if snapshots is not None and snapshots.height and (format is Format.table or alone):
        _show(snapshots, SNAPSHOTS, "the {} with most payload of {}", format)


def conversations(out: Path, names: Sequence[str]) -> None:
    """The UDP conversations of these logs, those with most payload first, and the streams of RTP in them."""
    import polars as pl

    from narrows.paths import tables
    from narrows.paths.conversations import sentences

    rows = tables.scan(out, "udp").filter(pl.col("log").is_in(names))
    udp = rows.sort("payload_bytes", "log", "conversation", descending=[True, False, False]).collect()
    if not udp.height:
        return
    _show(udp, CONVERSATIONS, "the {} conversations with most payload of {}")
    for sentence in sentences(udp, SENTENCES):
        typer.echo(f"udp: {sentence}", err=True)
    streams = tables.scan(out, "rtp").filter(pl.col("log").is_in(names)).sort("log", "conversation").collect()
    if streams.height:
        _show(streams, STREAMS, "the first {} streams of {}")


def closed(out: Path, names: Sequence[str]) -> None:
    """Say where secrets were wanted and no QUIC connection was opened by any."""
    import polars as pl

    from narrows.paths import tables

    rows = tables.scan(out, "udp").filter(pl.col("log").is_in(names)).collect()
    quic = rows.filter(pl.col("protocol") == "quic")
    if not quic.filter(pl.col("opened_packets") > 0).height:
        typer.echo(
            f"no secret opened any of {formats.counted(quic.height, 'QUIC connection')}: whole packets"
            " from the first one on are needed, and the key log of these very connections",
            err=True,
        )


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


def between(sender: str, receiver: str, format: Format) -> None:
    from narrows.paths.ends import compare

    row = asdict(compare(sender, receiver))
    formats.show(formats.console(), format, list(row), [list(row.values())])


def _show(frame: pl.DataFrame, columns: Columns, most: str, format: Format = Format.table) -> None:
    """The rows of a frame; as a table only the first, which `most` says."""
    shown = frame.head(SHOWN if format is Format.table else frame.height)
    lines = [[_cell(row, of) for of in columns.values()] for row in map(_with_truth, shown.to_dicts())]
    formats.show(formats.console(), format, list(columns), lines)
    if shown.height < frame.height:
        typer.echo(most.format(shown.height, frame.height), err=True)


def _cell(row: Mapping[str, Any], of: str | Callable[[Mapping[str, Any]], Any]) -> Any:
    """A value, in ms and Mbit/s where the tables have ns and bit/s."""
    value = row.get(of) if isinstance(of, str) else of(row)
    if value is None or not isinstance(of, str):
        return value
    return (
        value / 1e6 if of.endswith("_bps") else round(value / NS_PER_MS, 6) if of.endswith("_ns") else value
    )


def _with_truth(row: dict[str, Any]) -> dict[str, Any]:
    """A connection of one of our runs with what the run recorded; other rows as they are."""
    from narrows.paths.truth import of_capture

    truth = of_capture(Path(row["log"]), row[row["sender"]]) if "limited_by" in row else None
    if truth is None:
        return row
    return (
        row
        | {f"true_{name}": value for name, value in asdict(truth).items()}
        | {"log": f"{truth.run_id} {truth.capture}"}
    )
