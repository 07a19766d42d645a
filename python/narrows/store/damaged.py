"""Runs that cannot be read: each is left out, named and counted, and the rest is shown.

Whoever opens a directory of results notes here what it leaves out; the command line says so at its end, with
exit status 1, and the site on its pages. Nothing is printed here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from narrows.engine import layout
from narrows.errors import NarrowsError

PARQUET = b"PAR1"
"""How a file of Parquet begins and ends; one that was cut off has no end."""
_noted: dict[Path, str] = {}


def leave_out(folder: Path, why: NarrowsError | str) -> None:
    """Note a run that is left out."""
    text = why if isinstance(why, str) else why.message
    at = "" if isinstance(why, str) or why.where is None else Path(why.where).name
    where = "" if at in ("", folder.name) else f"{at}: "
    _noted[folder.resolve()] = where + text.removeprefix(f"run {folder.name}: ")


def left_out(below: Path | None = None) -> dict[Path, str]:
    """What is left out, of one directory of results or of all that were opened, and why."""
    inside = None if below is None else below.resolve()
    return {
        path: why for path, why in sorted(_noted.items()) if inside is None or inside in (path, *path.parents)
    }


def forget(below: Path) -> None:
    """The directory is read again: it may have been put right."""
    for path in left_out(below):
        del _noted[path]


def fault(folder: Path, manifest: Mapping[str, Any] | None) -> str | None:
    """What is wrong with a run's files, as far as a look at each shows; None: nothing."""
    if manifest is None:
        return "its manifest cannot be read"
    if manifest.get("run_id") != folder.name:
        return f"its manifest is that of another run: {manifest.get('run_id')}"
    texts = ("status", "written_at", *(() if manifest.get("engine") == layout.IMPORTED else ("engine",)))
    lacking = [name for name in texts if not isinstance(manifest.get(name), str)]
    lacking += ["plan_hash"] if "plan_hash" not in manifest else []
    lacking += ["key"] if not isinstance(manifest.get("key"), dict) else []
    if lacking:
        return f"its manifest lacks {', '.join(lacking)}"
    if manifest.get("engine") != layout.IMPORTED and not (folder / layout.PLAN).is_file():
        return f"{layout.PLAN} is missing"
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
        whole = size > 2 * mark
        return whole and os.pread(file, mark, 0) == PARQUET == os.pread(file, mark, size - mark)
    except OSError:
        return False
    finally:
        os.close(file)
