"""Names of files and directories of results, and whether a run there is whole. Reads no table."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

KERNEL_AXIS = "kernel_config"
"""The label of runs whose kernel had configuration of its own: another condition, no repetition. The plan
does not know it."""
TABLES_FORMAT = 2
"""Counted when columns of the store's tables change; a run of another is made again, not read."""
ASKED_AT = "asked_at"
"""In the manifest of a run that was asked for again after a newer one had been made of its labels."""
IMPORTED = "flent"
"""The engine of runs that were read from a file of Flent's: they have samples, and no plan."""
PLAN = "plan.json"
MANIFEST = "manifest.json"
RAW = "raw"
RESULT = "result.json"
TAP = "tap.bin"
FLOW_TAP = "flow_tap.bin"
MEDIA = "media.bin"
MODULES = "modules"
TOOLS = "tools"
CONSOLE = "console.log"
FAILED = ".failed"
LOCK = ".lock"
TMP_PREFIX = ".tmp-"
LONG = re.compile(rb"\d{20}|-\d{19}")
"""An integer that may have more than 64 bits; a seed of 63 has 19 digits."""
PARQUET = b"PAR1"
"""How a file of Parquet begins and ends; one that was cut off has no end."""


def run_dir(out: Path, run_id: str) -> Path:
    """Where a whole run lies."""
    return out / run_id


def failed_dir(out: Path, run_id: str) -> Path:
    """Where the last failed attempt lies."""
    return out / FAILED / run_id


def tmp_dir(out: Path, run_id: str, pid: int) -> Path:
    """Where a run is while it is not whole."""
    return out / f"{TMP_PREFIX}{run_id}-{pid}"


class _Part(BaseModel):
    """What is read of a manifest, by its type: numbers that no table can hold are none."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)


Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)] | None
Seed = Annotated[int, Field(ge=0, lt=2**64)] | None


class _Said(_Part):
    line: str | None = None
    message: str | None = None


class _Called(_Part):
    id: str | None = None


class _Ended(_Part):
    reason: str | None = None


class _Link(_Part):
    rate_down_bps: Whole = None
    rate_up_bps: Whole = None
    base_rtt_ns: Whole = None
    queue: str | None = None


class _Calibration(_Part):
    rtt_median_ns: Whole = None
    rate_down_bps: float | None = None
    rate_up_bps: float | None = None


class _Resources(_Part):
    virtual_s: float | None = None
    wall_s: float | None = None
    max_rss_bytes: Whole = None
    packets: Whole = None


class _Item(_Part):
    status: str | None = None
    start_ns: Whole = None
    end_ns: Whole = None


class _Manifest(_Part):
    run_id: str
    status: str
    written_at: str
    plan_hash: str | None
    key: dict[str, str]
    engine: str
    experiment: str | None = None
    question: str | None = None
    plan_seed: Seed = None
    error: _Said | None = None
    kernel: _Called | None = None
    agent: _Called | None = None
    until_settled: _Ended | None = None
    warnings: list[str] | None = None
    link: _Link | None = None
    calibration: _Calibration | None = None
    resources: _Resources | None = None
    items: dict[str, _Item] | None = None
    t0_unix_ns: Whole = None
    rows: dict[str, Whole] | None = None


def _not_by_a_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def links(folder: str | Path, deep: bool = True) -> list[str]:
    """Symbolic links in a run's directory, and the directory itself if it is one: what they lead to is no
    part of the run, and may be any file of this user's. `deep`: also those in its directories."""
    if os.path.islink(folder):
        return [os.path.basename(folder)]
    found = []
    try:
        inside = sorted(os.scandir(folder), key=lambda each: each.name)
    except OSError:
        return []
    for each in inside:
        if each.is_symlink():
            found.append(each.name)
        elif deep and each.is_dir():
            found += [f"{each.name}/{name}" for name in links(each.path)]
    return found


def _fits(digits: str) -> int:
    """An integer of 64 bits, with or without a sign; ValueError for any other."""
    if not -(2**63) <= (value := int(digits)) < 2**64:
        raise ValueError("more than 64 bits")
    return value


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """The manifest, or None if there is none that can be read."""
    try:
        with open(directory / MANIFEST, "rb", opener=_not_by_a_link) as file:
            text = file.read()
        # Half the time of the standard library's: a list of a thousand runs is a thousand manifests of 30 KB.
        value = from_json(text, allow_inf_nan=False)
        if LONG.search(text):
            json.loads(text, parse_int=_fits)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def fault(folder: Path, manifest: Mapping[str, Any] | None) -> str | None:
    """What is wrong with a run's files, as far as a look at each shows; None: nothing."""
    # A run may have failed because of a link that a program of it made.
    if found := links(folder, deep=manifest is None or manifest.get("status") != "failed"):
        return f"{', '.join(found)}: a link, which is not followed"
    if manifest is None:
        return "its manifest cannot be read"
    if manifest.get("run_id") != folder.name:
        return f"its manifest is that of another run: {manifest.get('run_id')}"
    if (made := manifest.get("format", TABLES_FORMAT)) != TABLES_FORMAT:
        return f"its tables are of format {made}, and this narrows reads {TABLES_FORMAT}"
    try:
        _Manifest.model_validate(manifest)
    except ValidationError as error:
        wrong = {".".join(map(str, each["loc"])): each["type"] == "missing" for each in error.errors()}
        what = "lacks" if all(wrong.values()) else "cannot be read at"
        return f"its manifest {what} {', '.join(wrong)}"
    if manifest["engine"] != IMPORTED and not (folder / PLAN).is_file():
        return f"{PLAN} is missing"
    tables = sorted(name for name in os.listdir(folder) if name.endswith(".parquet"))
    cut = [name for name in tables if not _is_parquet(f"{folder}/{name}")]
    return f"{', '.join(cut)}: cut off, or no Parquet at all" if cut else None


def _is_parquet(path: str) -> bool:
    """With as few calls as can be: a list of a thousand runs looks at five thousand tables."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        size, mark = os.fstat(file).st_size, len(PARQUET)
        return size > 2 * mark and os.pread(file, mark, 0) == PARQUET == os.pread(file, mark, size - mark)
    except OSError:
        return False
    finally:
        os.close(file)


def is_whole(directory: Path) -> bool:
    """A run that ended well, renamed into place with a manifest that says so, whose files can be read as far
    as a look at each shows."""
    manifest = read_manifest(directory)
    return manifest is not None and manifest.get("status") == "ok" and fault(directory, manifest) is None
