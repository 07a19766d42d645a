"""Finds the agent's binary and says which one it is. Does not build it."""

import hashlib
from functools import cache
from pathlib import Path

from narrows import data

ENV = "NARROWS_AGENT"
REMEDY = f"make agent   (or set {ENV} to a built binary)"


def find() -> tuple[Path, str]:
    """Path and id (SHA-256, hex) of the agent."""
    path = data.program("narrows-agent", ENV, REMEDY)
    return path, _id(path, path.stat().st_mtime_ns)


@cache
def _id(path: Path, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
