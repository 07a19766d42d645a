"""Names of files and directories of results, and whether a run there is whole. Reads no table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic_core import from_json

KERNEL_AXIS = "kernel_config"
"""The label of runs whose kernel had configuration of its own: another condition, no repetition. The plan
does not know it."""
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


def run_dir(out: Path, run_id: str) -> Path:
    """Where a whole run lies."""
    return out / run_id


def failed_dir(out: Path, run_id: str) -> Path:
    """Where the last failed attempt lies."""
    return out / FAILED / run_id


def tmp_dir(out: Path, run_id: str, pid: int) -> Path:
    """Where a run is while it is not whole."""
    return out / f"{TMP_PREFIX}{run_id}-{pid}"


def read_manifest(directory: Path) -> dict[str, Any] | None:
    """The manifest, or None if there is none that can be read."""
    try:
        # Half the time of the standard library's: a list of a thousand runs is a thousand manifests of 30 KB.
        value = from_json((directory / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def is_whole(directory: Path) -> bool:
    """A run that ended well: renamed into place with a manifest that says so."""
    manifest = read_manifest(directory)
    return manifest is not None and manifest.get("status") == "ok"
