"""Iterations of a watch: a directory each, of one kernel, agent, browser and players.

`DIR/1`, `DIR/2`, …: each has `iteration.json`, which says what it is of, and its runs in `DIR/N/runs`. A
run's id covers kernel and agent and not the browser, so runs of two iterations must not mix. As long as no
version changes, the last iteration is gone on with, also with more pairs or trials after it was finished.
"""

import datetime
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.errors import StoreError

FILE, RUNS = "iteration.json", "runs"
FORMAT = 1
Versions = Mapping[str, str]


@dataclass(frozen=True)
class Iteration:
    """One time through all pairs."""

    directory: Path
    number: int
    versions: Versions
    begun: str
    finished: str | None

    @property
    def runs(self) -> Path:
        return self.directory / RUNS

    def finish(self) -> "Iteration":
        """Mark it as done."""
        done = Iteration(self.directory, self.number, self.versions, self.begun, _now())
        done._write()
        return done

    def _write(self) -> None:
        text = {
            "format": FORMAT, "versions": dict(self.versions), "begun": self.begun, "finished": self.finished,
        }  # fmt: skip
        new = self.directory / f".{FILE}.new"
        new.write_text(json.dumps(text, indent=1, ensure_ascii=False) + "\n")
        os.replace(new, self.directory / FILE)


def there(watch: Path) -> list[Iteration]:
    """All iterations, in order. StoreError for one that cannot be read."""
    found = []
    for file in watch.glob(f"*/{FILE}") if watch.is_dir() else ():
        if file.parent.name.isdigit():
            found.append(_read(file))
    return sorted(found, key=lambda one: one.number)


def begin(watch: Path, versions: Versions) -> Iteration:
    """The iteration to work on: the last one if it is of these versions, else a new one."""
    known = there(watch)
    if known and dict(known[-1].versions) == dict(versions):
        return known[-1]
    number = known[-1].number + 1 if known else 1
    made = Iteration(watch / str(number), number, versions, _now(), None)
    made.runs.mkdir(parents=True, exist_ok=True)
    made._write()
    return made


def changed(before: Versions, after: Versions) -> list[str]:
    """What is of another version, in words."""
    lines = []
    for name in sorted({*before, *after}):
        old, new = before.get(name, "none"), after.get(name, "none")
        if old != new:
            lines.append(f"{name}: {old} → {new}")
    return lines


def _read(file: Path) -> Iteration:
    try:
        said: Any = json.loads(file.read_text())
        if said["format"] != FORMAT:
            raise StoreError(
                f"an iteration of format {said['format']}; this version reads {FORMAT}",
                where=str(file),
                remedy="use another directory: --out DIR",
            )
        versions = {str(name): str(value) for name, value in said["versions"].items()}
        return Iteration(file.parent, int(file.parent.name), versions, str(said["begun"]), said["finished"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"not an iteration of narrows watch ({type(error).__name__}: {error})",
            where=str(file),
            remedy="move this directory away; its runs stay readable",
        ) from None


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
