"""Puts the folders of a person's own tools into the run's directory, where their programs run and their
output is read.

They stay there: what ran is part of the record.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from narrows.engine import layout
from narrows.errors import EngineError
from narrows.plan.items import OwnTool
from narrows.plan.model import Plan


def place(plan: Plan, directory: Path) -> None:
    """Copy each file, if it is still what the plan was made with."""
    for tool in plan.composites:
        if not isinstance(tool, OwnTool):
            continue
        for name, digest in tool.files.items():
            source, target = Path(tool.path) / name, directory / layout.TOOLS / tool.tool / name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copy(source, target)  # with its mode: it may be a program
            except OSError as error:
                raise EngineError(f"{source} cannot be read: {error.strerror}") from None
            if hashlib.sha256(target.read_bytes()).hexdigest() != digest:
                raise EngineError(
                    f"{source} was changed after this run was planned", remedy="run the same command again"
                )
