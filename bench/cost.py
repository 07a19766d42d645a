"""What commands cost in CPU seconds, and as a ratio to another checkout that takes turns with this one.

`BEFORE` in the environment names that checkout (set up, its agent built); without one there is no ratio. All
processes of a command count: guests, browsers and what reads their runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from measure import BenchError, Spread, cost_of
from rows import Bench, Row

ROOT = Path(__file__).resolve().parents[1]
HEAD = "'''What does it cost?'''\nfrom narrows.spec import *\n"
SLOW = 'link = Link(rate="10 Mbit/s", base_rtt="30 ms", queue=fq_codel())\n'
FILES = {
    "eight": HEAD + 'link = Link(rate="20 Mbit/s", base_rtt="40 ms", queue=fq_codel())\n'
    'flow = bulk(cca="cubic", duration="30 s")\nrepeat(8)\n',
    "video": HEAD + SLOW + 'film = video(duration="12 s")\n',
    "call": HEAD + SLOW + 'talk = call(duration="12 s")\n',
}
COMMANDS: dict[str, tuple[float | None, tuple[str, ...]]] = {
    "narrows --help": (0.4, ("--help",)),
    "eight runs of 30 virtual s": (9.0, ("run", "eight.py", "--fresh", "--jobs", "1")),
    "a video of 12 virtual s": (0.8 * 12, ("run", "video.py", "--fresh", "--jobs", "1")),
    "a call of 12 virtual s": (1.4 * 12, ("run", "call.py", "--fresh", "--jobs", "1")),
}
"""By what it is: the most CPU seconds it is to take, and the words after `narrows`."""


def cost(bench: Bench) -> list[Row]:
    """A row for each command."""
    before = os.environ.get("BEFORE")
    checkouts = [ROOT, *([Path(before).resolve()] if before else [])]
    rows = []
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as name:
        for file, text in FILES.items():
            (Path(name) / f"{file}.py").write_text(text)
        for what, (most, words) in COMMANDS.items():
            spent: dict[Path, list[float]] = {checkout: [] for checkout in checkouts}
            for turn in range(bench.repeats):
                bench.say(f"{what}, {turn + 1} of {bench.repeats}")
                for checkout in checkouts:
                    call = partial(_call, checkout, Path(name), *words)
                    spent[checkout].append(cost_of(call).cpu_s)
            rows.append(_row(what, most, spent))
    return rows


def _row(what: str, most: float | None, spent: dict[Path, list[float]]) -> Row:
    own, *others = (Spread.of(values) for values in spent.values())
    ratio = f"; {own.median / others[0].median:.2f} × that of BEFORE" if others else ""
    target = "" if most is None else f"≤ {most:g} CPU s"
    numbers = {checkout.name: values for checkout, values in spent.items()}
    met = None if most is None else own.median <= most
    return Row(what, target, own.text(1), met, f"CPU seconds of all processes, not pinned{ratio}", numbers)


def _call(checkout: Path, folder: Path, *words: str) -> None:
    python = checkout / ".venv/bin/python"
    narrows = [str(python if python.exists() else sys.executable), "-m", "narrows.cli.main", *words]
    done = subprocess.run(narrows, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"narrows {' '.join(words)} of {checkout}: {done.stderr.strip()[-500:]}")
