"""Verdicts of stored runs, kept in the cache folder for as long as nothing that they were made from changes.

That is our own code, the program that reads captures, the libraries that count, every shard by its content,
and every file of a run by its name, size and time. What is kept is read without any of the code that
judges, so that it is there at once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narrows
from narrows.errors import NarrowsError
from narrows.judging.verdict import Claim, Number, Verdict
from narrows.kernel.image import cache_dir
from narrows.paths import binary

if TYPE_CHECKING:
    from narrows.runs.observed import Observed

LIBRARIES = ("numpy", "polars", "pydantic", "scipy")
KEPT_MOST = 20
MANIFEST, SHARD = "manifest.json", ".runs.parquet"
DEPTH = 4
"""Levels of directories below one that is named, as far as runs are looked for, and one for failed runs."""


@dataclass(frozen=True)
class Judged:
    """What `narrows claims` and the ledger show."""

    verdicts: tuple[Verdict, ...]
    measured: dict[str, str]
    """For each study, which runs its verdicts rest on (`ledger.measured`)."""
    left_out: tuple[tuple[Path, str], ...] = ()
    """Runs that cannot be read, and why. Verdicts without them are not kept: they are named each time."""


def judged(roots: Sequence[Path], only: Iterable[str] = (), runs: Sequence[Observed] | None = None) -> Judged:
    """The verdicts from all runs below the roots, which need not be read again where they are given; `only`
    may spell claims in any way."""
    wanted = tuple(only)
    what = json.dumps([code(), _reader(), wanted, [[str(root), *_made_of(root)] for root in roots]])
    file = cache_dir() / "verdicts" / f"{hashlib.sha256(what.encode()).hexdigest()[:32]}.json"
    try:
        return _from_json(json.loads(file.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        pass  # not kept, or not whole
    from narrows.runs.find import runs_below
    from narrows.store import damaged
    from narrows.studies.ledger import judge_all, measured

    if runs is None:
        runs = runs_below(roots)
    verdicts = judge_all(runs, wanted)
    left_out = tuple(each for root in roots for each in damaged.left_out(root).items())
    made = Judged(tuple(verdicts), measured(verdicts, runs), left_out)
    if not left_out:
        keep(file, json.dumps(dataclasses.asdict(made)), KEPT_MOST)
    return made


def keep(file: Path, text: str, most: int) -> None:
    """Into the cache folder, where the newest few of a kind stay. Without a cache that can be written it is
    worked out again each time."""
    new = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text)
        new.replace(file)
        for old in sorted(file.parent.glob("*.json"), key=lambda f: -f.stat().st_mtime)[most:]:
            old.unlink(missing_ok=True)
    except OSError:
        pass


def _from_json(plain: Any) -> Judged:
    verdicts = []
    for each in plain["verdicts"]:
        numbers = tuple(Number(**number) for number in each["numbers"])
        claim = each["claim"]
        by = {axis: of if isinstance(of, str) else tuple(of) for axis, of in claim["decided_by"].items()}
        parts = {
            "claim": Claim(**(claim | {"decided_by": by})),
            "numbers": numbers,
            "run_ids": tuple(each["run_ids"]),
        }
        verdicts.append(Verdict(**(each | parts)))
    return Judged(tuple(verdicts), plain["measured"])


@cache
def code() -> str:
    """A digest of the whole package but for what it only carries, and of the libraries that count."""
    digest = hashlib.sha256(" ".join([sys.version, *map(importlib.metadata.version, LIBRARIES)]).encode())
    for folder in narrows.__path__:
        for where, below, names in os.walk(folder):
            here = Path(where)
            below[:] = sorted(
                set(below) - {"__pycache__", "node_modules", *(["data"] if where == folder else [])}
            )
            for name in sorted(names):
                digest.update(
                    f"\0{(here / name).relative_to(folder)}\0".encode() + (here / name).read_bytes()
                )
    return digest.hexdigest()


def _reader() -> str:
    """A digest of the program that reads captures; empty where it is not there."""
    try:
        return hashlib.sha256(binary.find().read_bytes()).hexdigest()
    except (NarrowsError, OSError):
        return ""


def _made_of(root: Path, depth: int = DEPTH) -> Iterator[list[str | int]]:
    """Everything that `runs_below` may read, by name and content, or by name, size and time."""
    if root.name.endswith(SHARD) and root.is_file():
        yield [str(root), hashlib.sha256(root.read_bytes()).hexdigest()]
    elif (root / MANIFEST).is_file():
        for where, _, names in os.walk(root):
            for file in (Path(where, name) for name in sorted(names)):
                known = file.stat()
                yield [str(file), known.st_size, known.st_mtime_ns]
    elif depth and root.is_dir():
        for below in sorted(root.iterdir()):
            yield from _made_of(below, depth - 1)
