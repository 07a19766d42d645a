"""A Flent data file as a run that `narrows query` and `narrows.open` read: samples, and nothing made up.

There is no plan, no tap and no calibration in it, so reports and claims, which need the truth of the queue,
do not use it. The engine is called "flent". What in the file is no number is named in the run's warnings.
"""

import datetime
import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from narrows.engine import layout
from narrows.errors import StoreError
from narrows.flent.file import FlentFile, read, unix_s
from narrows.store import schema
from narrows.units import NS_PER_S

_RUN_ID_DIGITS = 16
_NO_SERIES = {"t", "dur", "seq", "val", "lost"}
"""Keys of a raw value that say when it was and whether there is one."""


@dataclass(frozen=True)
class Meaning:
    """What a series is in narrows: its name, its unit, and what a value is multiplied by."""

    series: str
    unit: str
    factor: float


_MS = 1e6
_BY_KEY = {
    # of a sender's socket, by `ss`: ms, packets and Mbit/s; ours are the kernel's own units
    "tcp_rtt": Meaning("tcp_info.rtt", "us", 1e3),
    "tcp_rtt_var": Meaning("tcp_info.rttvar", "us", 1e3),
    "tcp_cwnd": Meaning("tcp_info.snd_cwnd", "packets", 1.0),
    "tcp_pacing_rate": Meaning("tcp_info.pacing_rate", "bytes/s", 1e6 / 8),
    "tcp_delivery_rate": Meaning("tcp_info.delivery_rate", "bytes/s", 1e6 / 8),
    "tcp_bbr_bw": Meaning("tcp_bbr_bw", "bit/s", 1e6),
    "tcp_bbr_mrtt": Meaning("tcp_bbr_mrtt", "ns", _MS),
    "tcp_bbr_pacing_gain": Meaning("tcp_bbr_pacing_gain", "1", 1.0),
    "tcp_bbr_cwnd_gain": Meaning("tcp_bbr_cwnd_gain", "1", 1.0),
    # of a UDP probe, by irtt: ms
    "rtt": Meaning("rtt", "ns", _MS),
    **dict.fromkeys(("owd_up", "owd_down", "delay"), Meaning("owd", "ns", _MS)),
    "jitter": Meaning("jitter", "ns", _MS),
    **dict.fromkeys(("ipdv", "ipdv_up", "ipdv_down"), Meaning("ipdv", "ns", _MS)),
    "loss": Meaning("lost", "packets", 1.0),
}
_OF_QDISC = "qdisc"
"""How Flent's tests call what `tc -s` says: its delay is one of the queue's own, in units of the qdisc."""
_BY_UNIT = {
    "Mbits/s": Meaning("throughput", "bit/s", 1e6),
    "ms": Meaning("rtt", "ns", _MS),
    "Idx": Meaning("fairness", "1", 1.0),
}


def import_file(path: Path, out: Path) -> str:
    """The file as a run below `out`; its id, which is the same for the same content."""
    file = read(path)
    run_id = hashlib.sha256(path.read_bytes()).hexdigest()[:_RUN_ID_DIGITS]
    directory = layout.run_dir(out, run_id)
    if layout.is_whole(directory):
        return run_id
    frame = samples(file, run_id, str(path))
    partial = layout.tmp_dir(out, run_id, 0)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for table in schema.TABLES:
            rows = frame if table == "samples" else schema.empty(table)
            schema.write(rows, partial / f"{table}.parquet")
        (partial / layout.MANIFEST).write_text(
            json.dumps(_manifest(file, run_id, path.name, frame.height), indent=1)
        )
        partial.rename(directory)
    except OSError as error:
        raise StoreError(f"cannot write: {error.strerror}", where=str(directory)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return run_id


def samples(file: FlentFile, run_id: str, where: str) -> pl.DataFrame:
    """All series in narrows' units: as measured where the file has that, else on Flent's grid."""
    t0 = file.metadata.get("T0") or file.metadata.get("TIME")
    start_s = unix_s(str(t0), where) if t0 and any(file.raw.values()) else 0.0
    frames = []
    for source, key, rows in _series(file, start_s):
        meaning = _meaning(source, key, file.unit(source))
        frame = pl.DataFrame(
            {
                "t_ns": [round(t * NS_PER_S) for t, _ in rows],
                "value": [None if value is None else value * meaning.factor for _, value in rows],
            },
            schema={"t_ns": pl.Int64(), "value": pl.Float64()},
        )
        constants = {"run_id": run_id, "item": source, "quantity": meaning.series, "unit": meaning.unit}
        direction = _direction(source, key)
        if direction is not None:
            constants["direction"] = direction
        frames.append(schema.conform(frame, "samples", constants))
    return schema.concat(frames, "samples")


def _series(
    file: FlentFile, start_s: float
) -> Iterator[tuple[str, str | None, list[tuple[float, float | None]]]]:
    """Source, key (None: its value) and rows. A result `source::key` that raw values of `source` have too is
    taken from there."""
    names = set(file.results) | set(file.raw)
    measured = {name: _keys(rows) for name, rows in file.raw.items()}
    for name in sorted(names):
        source, key = _split(name, names)
        if key is not None and key in measured.get(source, ()):
            continue
        rows = file.raw.get(name) or []
        if not any("val" in row or row.get("lost") for row in rows) and name in file.results:
            yield source, key, list(zip(file.x_values, file.results[name], strict=True))
        elif any("val" in row or row.get("lost") for row in rows):
            known = [row for row in rows if "val" in row or row.get("lost")]
            yield source, key, [(row["t"] - start_s, row.get("val")) for row in known]
        for each in sorted(measured.get(name, ())):
            yield name, each, [(row["t"] - start_s, row[each]) for row in rows if each in row]


def _keys(rows: list[dict[str, Any]]) -> set[str]:
    """What else than its value these raw values have, as numbers."""
    return {key for row in rows for key, value in row.items() if not isinstance(value, bool)} - _NO_SERIES


def _split(name: str, names: set[str]) -> tuple[str, str | None]:
    """`TCP upload::1::tcp_rtt` is tcp_rtt of `TCP upload::1`; `TCP upload::1` is a series of its own."""
    source, _, key = name.rpartition("::")
    return (source, key) if key in _BY_KEY or source in names else (name, None)


def _meaning(name: str, key: str | None, unit: str | None) -> Meaning:
    """What is known neither by its key nor by its unit keeps Flent's name of it, or "value", and its unit."""
    if key == "delay" and name.startswith(_OF_QDISC):
        return Meaning(key, "1", 1.0)
    if key is not None:
        return _BY_KEY.get(key, Meaning(key, "1", 1.0))
    if unit in _BY_UNIT:
        return _BY_UNIT[unit]
    if unit is None and name.startswith("TCP "):
        return _BY_UNIT["Idx" if name.endswith("fairness") else "Mbits/s"]
    if unit is None and "(ms)" in name:
        return _BY_UNIT["ms"]
    return Meaning("value", unit or "1", 1.0)


def _direction(name: str, key: str | None) -> str | None:
    if key is not None and key.endswith(("_up", "_down")):
        return key.rpartition("_")[2]
    if key == "delay" and not name.startswith(
        _OF_QDISC
    ):  # irtt's send delay, under the name that D-ITG's has
        return "up"
    return "down" if "download" in name else "up" if "upload" in name else None


def _manifest(file: FlentFile, run_id: str, file_name: str, rows: int) -> dict[str, Any]:
    """As `store.manifest` makes it, with nothing where Flent says nothing."""
    length = file.metadata.get("TOTAL_LENGTH")
    return {
        "format": layout.TABLES_FORMAT,
        "run_id": run_id,
        "status": "ok",
        "error": None,
        "experiment": file.name,
        "question": file.metadata.get("NOTE"),
        "key": {"file": file_name, "title": str(file.metadata.get("TITLE") or "")},
        "plan_hash": None,
        "plan_seed": None,
        "link": None,
        "engine": layout.IMPORTED,
        "flent": {name: value for name, value in file.metadata.items() if name != "SERIES_META"},
        "kernel": {},
        "agent": {},
        "tools": {"flent": str(file.metadata.get("FLENT_VERSION") or "")},
        "python": {},
        "items": {},
        "calibration": None,
        "conservation": [],
        "sysctls": {},
        "resources": {
            "wall_s": None,
            "virtual_s": float(length) if isinstance(length, (int, float)) else None,
            "max_rss_bytes": None,
            "packets": None,
        },
        "rows": {"samples": rows},
        "warnings": ["imported from Flent: no plan, no queue truth, no calibration", *file.notes],
        "written_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
