"""Finds the core's binary, `narrows-paths`. Does not build it."""

from pathlib import Path

from narrows import data

ENV = "NARROWS_PATHS"
REMEDY = f"make agent   (or set {ENV} to a built narrows-paths)"


def find() -> Path:
    """The reader of packet logs."""
    return data.program("narrows-paths", ENV, REMEDY)
