"""Puts the folders of a person's own tools into the run's directory, where their programs run and their
output is read.

They stay there: what ran is part of the record.
"""

import hashlib
import os
import stat
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
            try:
                with source.open("rb") as file:
                    content, mode = file.read(), os.fstat(file.fileno()).st_mode
            except OSError as error:
                raise EngineError(f"{source} cannot be read: {error.strerror}") from None
            # Before anything of it is written: a plan may name any file of this user.
            if hashlib.sha256(content).hexdigest() != digest:
                raise EngineError(
                    f"{source} was changed after this run was planned", remedy="run the same command again"
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(stat.S_IMODE(mode))  # it may be a program
