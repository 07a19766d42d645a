"""What the guest's kernel says on its console of what went wrong."""

import re
from pathlib import Path

from narrows.engine import layout
from narrows.engine.types import RunFault
from narrows.plan.model import Plan

WARNINGS = ("WARNING: ", "BUG: ", "run_ahead: ")
"""What a line begins with that says the kernel found something wrong."""
PANIC = "Kernel panic - not syncing: "
NO_MEMORY = f"{PANIC}Out of memory"
"""The engine lets no guest go on without one of its programs (vm.panic_on_oom)."""
_ASKED = re.compile(r"(\S+) invoked oom-killer")
_ENDED = re.compile(r"Out of memory: Killed process \d+ \((.+?)\)")
_TIME = re.compile(r"^\[ *[\d.]+\] ")
_PLACE = re.compile(r"RIP: \w+:(?!0x)(.+)")
_MODULES = re.compile(r"Modules linked in: (.+?)(?: \[last unloaded.*)?")
MIB = 2**20


def warnings(directory: Path) -> list[str]:
    """What it warned of; the run went on all the same."""
    said = [line for line in _lines(directory) if _TIME.sub("", line).startswith(WARNINGS)]
    return [f"the guest's kernel: {line}" for line in said]


def lacked_memory(directory: Path, plan: Plan) -> RunFault | None:
    """Whatever else the run shows follows from it."""
    lines = _lines(directory)
    ended = [match[1] for line in lines if (match := _ENDED.search(line))]
    asked = [match[1] for line in lines if (match := _ASKED.search(line))]
    if not ended and not any(NO_MEMORY in line for line in lines):
        return None
    have = plan.machine.memory_bytes // MIB
    what = f"its kernel ended {', '.join(dict.fromkeys(ended))}" if ended else f"{asked[-1]} asked for more"
    return RunFault(
        "memory",
        f"the guest's {have} MiB of memory were too little, and {what} "
        f'→ machine(memory="{2 * have} MiB") in the experiment',
    )


def panic(directory: Path) -> str | None:
    """Why the kernel gave up, in one line: its own words, where in its code it was, and the modules that are
    no part of it. None if it did not."""
    lines = [_TIME.sub("", line) for line in _lines(directory)]
    number = next((number for number, line in enumerate(lines) if line.startswith(PANIC)), None)
    if number is None:
        return next((line for line in lines if line.startswith("BUG:")), None)
    # It says first where, and then why.
    before = lines[:number]
    place = next((match[1] for line in reversed(before) if (match := _PLACE.fullmatch(line))), None)
    loaded = next((match[1] for line in reversed(before) if (match := _MODULES.fullmatch(line))), None)
    told = [lines[number], *([f"in {place}"] if place else []), *([f"modules: {loaded}"] if loaded else [])]
    return ", ".join(told)


def _lines(directory: Path) -> list[str]:
    """Each may begin with a time."""
    console = directory / layout.CONSOLE
    if not console.exists():
        return []
    return [line.strip() for line in console.read_text(errors="replace").splitlines()]
