"""A Flent data file as a run that `narrows query` and `narrows.open` read: samples, and nothing made up.

There is no plan, no tap and no calibration in it, so reports and claims, which need the truth of the queue,
do not use it. The engine is called "flent".
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl

from narrows.engine import layout
from narrows.errors import StoreError
from narrows.flent.file import NS_PER_S, FlentFile, read, unix_s
from narrows.store import schema

_RUN_ID_DIGITS = 16


def import_file(path: Path, out: Path) -> str:
    """The file as a run below `out`; its id, which is the same for the same content."""
    file = read(path)
    run_id = hashlib.sha256(path.read_bytes()).hexdigest()[:_RUN_ID_DIGITS]
    directory = layout.run_dir(out, run_id)
    if layout.is_whole(directory):
        return run_id
    partial = layout.tmp_dir(out, run_id, 0)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for table in schema.TABLES:
            frame = samples(file, run_id, str(path)) if table == "samples" else schema.empty(table)
            schema.write(frame, partial / f"{table}.parquet")
        (partial / layout.MANIFEST).write_text(json.dumps(_manifest(file, run_id, path.name), indent=1))
        partial.rename(directory)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise StoreError(f"cannot write: {error.strerror}", where=str(directory)) from error
    return run_id


def samples(file: FlentFile, run_id: str, where: str) -> pl.DataFrame:
    """All series in narrows' units: as measured where the file has that, else on Flent's grid."""
    t0 = file.metadata.get("T0") or file.metadata.get("TIME")
    start_s = unix_s(str(t0), where) if t0 and any(file.raw.values()) else 0.0
    frames = []
    for name in sorted(set(file.results) | set(file.raw)):
        rows: list[tuple[float, float | None]]
        if file.raw.get(name):
            rows = [(t - start_s, value) for t, value in file.raw[name]]
        else:
            rows = list(zip(file.x_values, file.results[name], strict=True))
        series, unit, factor = _meaning(name, file.unit(name))
        frame = pl.DataFrame(
            {
                "t_ns": [round(t * NS_PER_S) for t, _ in rows],
                "value": [None if value is None else value * factor for _, value in rows],
            },
            schema={"t_ns": pl.Int64(), "value": pl.Float64()},
        )
        direction = "down" if "download" in name else "up" if "upload" in name else None
        constants = {"run_id": run_id, "source": name, "series": series, "unit": unit, "direction": direction}
        frames.append(schema.conform(frame, "samples", {k: v for k, v in constants.items() if v is not None}))
    return schema.concat(frames, "samples")


def _meaning(name: str, unit: str | None) -> tuple[str, str, float]:
    """Series, unit and factor; what is neither a rate nor a delay keeps its own unit."""
    if unit == "Mbits/s" or (unit is None and name.startswith("TCP ")):
        return "throughput", "bit/s", 1e6
    if unit == "ms" or (unit is None and "(ms)" in name):
        return "rtt", "ns", 1e6
    return "value", unit or "1", 1.0


def _manifest(file: FlentFile, run_id: str, file_name: str) -> dict[str, object]:
    length = file.metadata.get("TOTAL_LENGTH")
    return {
        "format": 1,
        "run_id": run_id,
        "status": "ok",
        "error": None,
        "experiment": file.name,
        "question": file.metadata.get("NOTE"),
        "key": {"file": file_name, "title": str(file.metadata.get("TITLE") or "")},
        "engine": "flent",
        "flent": {name: value for name, value in file.metadata.items() if name != "SERIES_META"},
        "resources": {"virtual_s": float(length) if isinstance(length, (int, float)) else None},
        "warnings": ["imported from Flent: no plan, no queue truth, no calibration"],
    }
