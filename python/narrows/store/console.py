"""What the guest's kernel says on its console of what went wrong."""

from __future__ import annotations

import re
from pathlib import Path

from narrows.engine import layout
from narrows.engine.types import RunFault
from narrows.plan.model import Plan

WARNINGS = ("WARNING: ", "BUG: ", "run_ahead: ")
"""What a line begins with that says the kernel found something wrong."""
_ENDED = re.compile(r"Out of memory: Killed process \d+ \((.+?)\)")
_TIME = re.compile(r"^\[ *[\d.]+\] ")
MIB = 2**20


def warnings(directory: Path) -> list[str]:
    """What it warned of; the run went on all the same."""
    said = [line for line in _lines(directory) if _TIME.sub("", line).startswith(WARNINGS)]
    return [f"the guest's kernel: {line}" for line in said]


def lacked_memory(directory: Path, plan: Plan) -> RunFault | None:
    """A program that the kernel ended for lack of memory: whatever else the run shows follows from it, and a
    browser lives on without one of its processes."""
    ended = [match[1] for line in _lines(directory) if (match := _ENDED.search(line))]
    if not ended:
        return None
    have = plan.machine.memory_bytes // MIB
    names = ", ".join(dict.fromkeys(ended))
    return RunFault(
        "memory",
        f"the guest's {have} MiB of memory were too little, and its kernel ended {names} "
        f'→ machine(memory="{2 * have} MiB") in the experiment',
    )


def _lines(directory: Path) -> list[str]:
    """Each may begin with a time."""
    console = directory / layout.CONSOLE
    if not console.exists():
        return []
    return [line.strip() for line in console.read_text(errors="replace").splitlines()]
