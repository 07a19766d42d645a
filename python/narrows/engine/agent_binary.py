"""Finds the agent's binary and says which one it is. Does not build it."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from narrows import data
from narrows.errors import EngineError

ENV = "NARROWS_AGENT"
BUILT = data.at("bin/narrows-agent")
"""In a checkout the newest build there, in a wheel the one that it was made with."""
REMEDY = f"make agent   (or set {ENV} to a built binary)"


def find() -> tuple[Path, str]:
    """Path and id (SHA-256, hex) of the agent: `$NARROWS_AGENT`, else the one that this package has."""
    chosen = os.environ.get(ENV)
    if chosen:
        path = Path(chosen).expanduser().absolute()
        if not os.access(path, os.X_OK) or not path.is_file():
            raise EngineError(f"{ENV} names {path}, which is no program", remedy=REMEDY)
        return path, _id(path, path.stat().st_mtime_ns)
    if not BUILT.is_file():
        raise EngineError("the agent has not been built", remedy=REMEDY)
    return BUILT, _id(BUILT, BUILT.stat().st_mtime_ns)


@cache
def _id(path: Path, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
