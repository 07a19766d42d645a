"""What `narrows paths` says of all sessions of a directory, with what a CSV knows of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from narrows.cli import format as formats

if TYPE_CHECKING:
    import polars as pl


def sessions(out: Path, metadata: Path | None, devices: Path | None, by: Sequence[str]) -> None:
    """All sessions of the directory with what the CSV knows: proxies, busy hours, `judged.parquet`, and one
    page with what limited whom and their distributions."""
    from narrows.errors import UsageError, did_you_mean
    from narrows.paths import metadata as known
    from narrows.paths import page, tables

    every = tables.load(out, "sessions")
    if metadata is not None:
        every = _judged(known.join(every, metadata), out, devices)
    missing = [name for name in by if name not in every.columns]
    if missing:
        raise UsageError(
            f"sessions have no column {missing[0]}", remedy=did_you_mean(missing[0], every.columns)
        )
    built = page.build(every, by or [name for name in page.KNOWN if name in every.columns], out)
    for each in built.missing:
        typer.echo(f"  not drawn: {each.title}: {each.reason}", err=True)
    typer.echo(f"page: {built.html}", err=True)


def _judged(sessions: pl.DataFrame, out: Path, devices: Path | None) -> pl.DataFrame:
    from narrows.paths import busy_hours, proxies

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
    return sessions
