"""Joins what is known of clients besides their packets (device, network, country, AS), from a CSV."""

import ipaddress
from pathlib import Path

import polars as pl

from narrows.errors import UsageError, did_you_mean
from narrows.paths.tables import full_name

KEYS = ("client", "log")


def join(frame: pl.DataFrame, file: Path) -> pl.DataFrame:
    """`frame` (sessions or connections) with the columns of the CSV `file`, NULL where it knows nothing.

    The file has a header and one or both key columns: `client` (an address) and `log` (a packet log's
    path). With both, both must match. Addresses may be written in any way. Raises UsageError for a file that
    cannot be joined, has a key twice, or knows nothing of any row.
    """
    try:
        table = pl.read_csv(file, infer_schema_length=None)
    except (OSError, pl.exceptions.PolarsError) as error:
        first = str(error).splitlines()[0]
        raise UsageError(
            f"{file} is no CSV that can be read: {first}", remedy="a CSV with a header"
        ) from error
    table = table.rename(str.strip).with_columns(pl.col(pl.String).str.strip_chars())
    keys = [key for key in KEYS if key in table.columns]
    if not keys:
        raise UsageError(
            f"{file} has no column client or log to join by", remedy=did_you_mean(table.columns[0], KEYS)
        )
    if clash := sorted(set(table.columns) & set(frame.columns) - set(keys)):
        raise UsageError(f"{file}: the column {clash[0]} is measured already", remedy="another name for it")
    table = table.with_columns(pl.col(key).cast(pl.String) for key in keys)
    if "client" in keys:
        table = table.with_columns(
            pl.Series("client", [_address(each) for each in table["client"]], pl.String)
        )
    if "log" in keys:
        full = [None if log is None else full_name(log) for log in table["log"]]
        table = table.with_columns(pl.Series("log", full, pl.String))
    doubles = table.filter(pl.struct(keys).is_duplicated())
    if doubles.height:
        row = ", ".join(f"{key} {doubles[key][0]}" for key in keys)
        raise UsageError(f"{file}: {row} is there twice", remedy="one row each")
    if frame.height and table.height and frame.join(table, on=keys, how="semi").is_empty():
        example = " and ".join(f"{key} {frame[key][0]}" for key in keys)
        raise UsageError(
            f"{file}: no row of it is of any session here",
            remedy=f"such as {example}, in column {' and '.join(keys)}",
        )
    return frame.join(table, on=keys, how="left", maintain_order="left")


def _address(text: str | None) -> str | None:
    """An address as the tables write it; what is none stays."""
    try:
        return str(ipaddress.ip_address(text or ""))
    except ValueError:
        return text
