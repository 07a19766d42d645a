"""One Flent data file: gzip (or bzip2, or plain) JSON of format version 4, as Flent 2.x writes it.

Knows the file's shape and nothing of runs. Older formats are refused with the command that converts them:
Flent itself does.
"""

import bz2
import gzip
import json
import math
import shlex
import zlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from narrows.errors import StoreError
from narrows.units import NS_PER_S

VERSION = 4
SUFFIX = ".flent.gz"
OLD_VERSIONS = (1, 2, 3)
REMEDY = "a whole data file of Flent 2.x (.flent.gz), which Flent writes where it runs a test"


@dataclass(frozen=True)
class FlentFile:
    """Series on one grid of times (`results`, None where there is no value) and as they were measured
    (`raw`: rows with t in Unix seconds, the value `val`, and whatever else the runner noted)."""

    metadata: dict[str, Any]
    x_values: list[float]
    results: dict[str, list[float | None]]
    raw: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What is not in it, or not as its reader may think."""

    @property
    def name(self) -> str:
        """The Flent test, which says how its series are plotted."""
        return str(self.metadata["NAME"])

    def unit(self, series: str) -> str | None:
        """What Flent says of a series' unit."""
        meta = self.metadata.get("SERIES_META") or {}
        unit = (meta.get(series) or {}).get("UNITS")
        return None if unit is None else str(unit)


def stamp(unix_ns: int) -> str:
    """UTC as Flent writes it."""
    seconds, rest = divmod(unix_ns, NS_PER_S)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"


def unix_s(text: str, where: str) -> float:
    """Seconds of a UTC time of Flent's."""
    try:
        moment = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    except ValueError:
        raise StoreError(f"T0 is {text!r}, which is no time in UTC", where=where, remedy=REMEDY) from None
    return moment.timestamp()


def write(file: FlentFile, path: Path) -> None:
    """The file, the same bytes for the same content. Written aside and renamed, so that it is whole or
    absent."""
    content = {
        "metadata": file.metadata,
        "version": VERSION,
        "x_values": file.x_values,
        "results": file.results,
        "raw_values": file.raw,
    }
    text = json.dumps(content, indent=1, sort_keys=True, allow_nan=False).encode()
    partial = path.with_name(path.name + ".tmp")
    try:
        partial.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"cannot write: {error.strerror}", where=str(path)) from error


def read(path: Path) -> FlentFile:
    """The file, checked; one clear error for whatever is wrong with it."""
    where = str(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read: {error.strerror}", where=where) from error
    try:
        data = json.loads(_unpacked(content, where))
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"no data file of Flent: its content is not JSON ({error})", where=where, remedy=REMEDY
        ) from error
    return _checked(data, where)


def _unpacked(content: bytes, where: str) -> bytes:
    if not content:
        raise StoreError("the file is empty", where=where, remedy=REMEDY)
    try:
        if content[:2] == b"\x1f\x8b":
            return gzip.decompress(content)
        if content[:3] == b"BZh":
            return bz2.decompress(content)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        cut = isinstance(error, EOFError) or "end-of-stream" in str(error)
        what = "the file is truncated" if cut else f"the file is damaged ({error})"
        raise StoreError(what, where=where, remedy=REMEDY) from error
    return content


def _checked(data: Any, where: str) -> FlentFile:
    def wrong(what: str) -> StoreError:
        return StoreError(f"no data file of Flent: {what}", where=where, remedy=REMEDY)

    if isinstance(data, dict) and {"start", "intervals", "end"} <= set(data):
        raise wrong("this is a report of iperf3")
    if not isinstance(data, dict) or "metadata" not in data or "x_values" not in data:
        raise wrong("it has no metadata and x_values")
    version = data.get("version", 1)
    if version != VERSION:
        old = version in OLD_VERSIONS
        raise StoreError(
            f"format version {version} of Flent, not {VERSION}",
            where=where,
            remedy=convert(where)
            if old
            else "this version is newer than Flent 2.3's, and nobody has checked what it means",
        )
    metadata, grid = data["metadata"], data["x_values"]
    results, raw = data.get("results"), data.get("raw_values", {})
    if not isinstance(metadata, dict) or not isinstance(metadata.get("NAME"), str):
        raise wrong("its metadata name no test")
    if not isinstance(results, dict) or not isinstance(raw, dict):
        raise wrong("results or raw_values are missing")
    x_values = [_number(x) for x in _list(grid, "x_values", wrong)]
    if any(x is None for x in x_values):
        raise wrong("an entry of x_values is no number")
    series = {}
    for name, values in results.items():
        series[name] = [_number(v) for v in _list(values, name, wrong)]
        if len(series[name]) != len(x_values):
            raise wrong(f"{name} has {len(series[name])} values for {len(x_values)} times")
    notes: list[str] = []
    measured = {name: _rows(name, _list(rows, name, wrong), notes) for name, rows in raw.items()}
    return FlentFile(metadata, [x for x in x_values if x is not None], series, measured, tuple(notes))


def convert(old: str) -> str:
    """The command that makes version 4 of an older file, by Flent itself (`pip install flent`)."""
    new = f"{old.removesuffix('.gz').removesuffix('.bz2').removesuffix('.flent')}.v4{SUFFIX}"
    program = f"import flent.resultset as r; r.load({old!r}).dump_file({new!r})"
    return f"Flent converts it: python3 -c {shlex.quote(program)}"


def _list(value: Any, name: str, wrong: Any) -> list[Any]:
    if not isinstance(value, list):
        raise wrong(f"{name} is no list")
    return value


def _rows(name: str, rows: list[Any], notes: list[str]) -> list[dict[str, Any]]:
    """Rows with a time, and in them numbers by key, nested ones joined by `::`. What else there is, is
    counted in a note."""
    found, timeless, other = [], 0, Counter[str]()
    for row in rows:
        t = _number(row.get("t")) if isinstance(row, dict) else None
        if t is None:
            timeless += 1
            continue
        flat: dict[str, Any] = {"t": t}
        _flatten(row, "", flat, other)
        found.append(flat)
    if timeless:
        notes.append(f"{name}: {timeless} raw values without a time were left out")
    for key, count in sorted(other.items()):
        notes.append(f"{name}: {key} of {count} raw values is no number and was left out")
    return found


def _flatten(row: dict[str, Any], prefix: str, flat: dict[str, Any], other: Counter[str]) -> None:
    for key, value in row.items():
        called = f"{prefix}{key}"
        number = _number(value)
        if called == "t" or value is None:
            continue
        if isinstance(value, dict):
            _flatten(value, f"{called}::", flat, other)
        elif isinstance(value, bool):
            flat[called] = value
        elif number is not None:
            flat[called] = number
        else:
            other[called] += 1


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None
