"""Runs that are there already, with the wall time each took: what a guess of the time that others will take
rests on. Nothing is started, and no number of a result is read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from narrows.engine import layout
from narrows.errors import NarrowsError
from narrows.plan.model import Plan

OF_EACH = 8
"""Runs of one directory are much alike."""


def made_here(root: Path) -> list[tuple[Plan, float]]:
    """Some whole runs of each directory of results below `root`, with their seconds of wall time."""
    folders = [path for path in sorted(root.iterdir()) if path.is_dir()] if root.is_dir() else []
    return [run for folder in folders for run in islice(_runs(folder), OF_EACH)]


def _runs(folder: Path) -> Iterator[tuple[Plan, float]]:
    for run in sorted(folder.glob("[!.]*")):
        manifest = layout.read_manifest(run)
        if manifest is None or manifest.get("status") != "ok":
            continue
        wall_s = (manifest.get("resources") or {}).get("wall_s")
        try:
            plan = Plan.from_json((run / layout.PLAN).read_text(), where=str(run))
        except (OSError, NarrowsError):
            continue  # of another version: it tells nothing
        if wall_s:
            yield plan, float(wall_s)
