"""Finds the core's binary, `narrows-paths`. Does not build it."""

from __future__ import annotations

import os
from pathlib import Path

from narrows.errors import EngineError

ENV = "NARROWS_PATHS"
_CHECKOUT = Path(__file__).resolve().parents[3]
_BUILT = (
    "crates/target/release/narrows-paths",
    "crates/target/x86_64-unknown-linux-gnu/release/narrows-paths",
    "crates/target/x86_64-unknown-linux-musl/release/narrows-paths",
)
REMEDY = f"make setup   (or set {ENV} to a built narrows-paths)"


def find() -> Path:
    """The core's binary: `$NARROWS_PATHS`, else the newest build of this checkout. Raises EngineError."""
    chosen = os.environ.get(ENV)
    if chosen:
        path = Path(chosen).expanduser().absolute()
        if not path.is_file() or not os.access(path, os.X_OK):
            raise EngineError(f"{ENV} names {path}, which is no program", remedy=REMEDY)
        return path
    built = [path for path in (_CHECKOUT / name for name in _BUILT) if path.is_file()]
    if not built:
        raise EngineError("the reader of packet logs, narrows-paths, has not been built", remedy=REMEDY)
    return max(built, key=lambda path: path.stat().st_mtime_ns)
