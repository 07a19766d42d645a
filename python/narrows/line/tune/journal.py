"""What was there before, kept where a reboot forgets it too, so that it can be given back whatever happens.

The journal is written before anything is changed. `begun` in it means that the change was not finished.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from narrows.errors import EngineError
from narrows.line.tune import setting, system

DIRECTORY = Path("/run/narrows-tune")
ENV = "NARROWS_TUNE_STATE"
"""Names another directory."""


@dataclass(frozen=True)
class Journal:
    """One interface's."""

    wan: str
    ifb: str
    phase: str
    """begun or set"""
    qdiscs: str
    """`tc qdisc show` before"""
    earlier: tuple[str, ...] | None
    """The words of the root qdisc that somebody had set."""


def _directory() -> Path:
    return Path(os.environ.get(ENV) or DIRECTORY)


def _path(wan: str) -> Path:
    return _directory() / f"{wan}.json"


@contextmanager
def locked(wan: str) -> Iterator[None]:
    """One tune an interface at a time."""
    try:
        _directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        with (_directory() / f"{wan}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise EngineError(f"another narrows tune is at work on {wan}", remedy="wait for it") from None
            yield
    except OSError as error:
        raise EngineError(f"{_directory()}: {error.strerror}", remedy=f"set {ENV}") from None


def read(wan: str) -> Journal | None:
    """What is kept of an interface."""
    try:
        found = json.loads(_path(wan).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise EngineError(
            f"{_path(wan)} cannot be read: {error}", remedy="see tc qdisc, then delete it"
        ) from None
    earlier = found["earlier"]
    return Journal(**(found | {"earlier": None if earlier is None else tuple(earlier)}))


def write(journal: Journal) -> None:
    """Keep it, whole or not at all."""
    path = _path(journal.wan)
    new = path.with_suffix(".new")
    with new.open("w") as file:
        json.dump(asdict(journal), file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def undo(journal: Journal) -> None:
    """Give back what was there, from wherever the change had got to. An error if it is not equal then."""
    now = system.qdiscs(journal.wan)
    root_is_ours = setting.is_ours(now)
    for words in setting.undo_lines(journal.wan, journal.ifb, journal.earlier):
        if "root" in words and not root_is_ours:
            continue
        if words[-1] == "ingress" and "ingress" not in now:
            continue
        if words[:3] == ("ip", "link", "del") and journal.ifb not in system.links():
            continue
        system.do(words)
    after = system.qdiscs(journal.wan)
    if after != journal.qdiscs:
        raise EngineError(
            f"{journal.wan} is not as it was: {after.strip()!r}, before: {journal.qdiscs.strip()!r}",
            remedy=f"somebody else has changed it meanwhile; what is kept is in {_path(journal.wan)}",
        )
    _path(journal.wan).unlink(missing_ok=True)
