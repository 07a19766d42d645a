"""Finds the agent's binary and says which one it is. Does not build it."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from narrows.errors import EngineError

ENV = "NARROWS_AGENT"
_CHECKOUT = Path(__file__).resolve().parents[3]
_BUILT = (
    "crates/target/release/narrows-agent",
    "crates/target/x86_64-unknown-linux-gnu/release/narrows-agent",
    "crates/target/x86_64-unknown-linux-musl/release/narrows-agent",
)
REMEDY = f"make agent   (or set {ENV} to a built binary)"


def find() -> tuple[Path, str]:
    """Path and id (SHA-256, hex) of the agent: `$NARROWS_AGENT`, else the newest build of this checkout."""
    chosen = os.environ.get(ENV)
    if chosen:
        path = Path(chosen).expanduser().absolute()
        if not os.access(path, os.X_OK) or not path.is_file():
            raise EngineError(f"{ENV} names {path}, which is no program", remedy=REMEDY)
        return path, _id(path, path.stat().st_mtime_ns)
    found = [path for path in (_CHECKOUT / name for name in _BUILT) if path.is_file()]
    if not found:
        raise EngineError("the agent has not been built", remedy=REMEDY)
    path = max(found, key=lambda p: p.stat().st_mtime_ns)
    return path, _id(path, path.stat().st_mtime_ns)


@cache
def _id(path: Path, _mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
