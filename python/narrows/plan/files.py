"""The files that a command names, with what is in them, so that a run is made again when one has changed.

A file is named by its absolute path, anywhere in an argument (`--config=/home/me/x.json`, inside the text of
`sh -c`) or in the environment; a program also by its name, if PATH finds it outside the system's own
directories. What the distribution brings is not looked into: the manifest has the versions of its tools.
What a named file reads by itself, such as a module that a script imports, is not looked into either. Of the
clients of narrows' own tools all files count, and of their packages the lock file.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from narrows.errors import PlanError
from narrows.plan.model import Command, File

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where a guest looks for programs first, whatever its user's PATH is."""
NOT_LOOKED_INTO = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/dev/", "/proc/", "/sys/", "/run/")
LOCAL = "/usr/local/"
"""Of the system's directories the one that holds what its administrator put there."""
PACKAGE = Path(__file__).resolve().parents[1]
_CLIENT = re.compile(r"@checkout/(tools/\w+/client)")
PACKAGES, DRIVER = "node_modules", "tools/services/client"
_PATH = re.compile(r"(?<![\w.@/])/(?!/)[^\s\"'`;|&<>()$,=:]+")


def with_files(item: Command) -> Command:
    """The same command with its files."""
    found = {str(path): _file(path) for path in _named(item)}
    return item.model_copy(update={"files": tuple(found[path] for path in sorted(found))})


def _named(item: Command) -> Iterator[Path]:
    for program in item.programs:
        place = shutil.which(program, path=":".join(SYSTEM_PATH)) or shutil.which(program)
        if place is not None:
            yield from _own(place)
    for text in (*item.argv, *item.env.values()):
        for folder in _CLIENT.findall(text):
            yield from _client(folder)
        yield from _own(text)
        for part in _PATH.findall(text):
            yield from _own(part)


@cache
def _client(folder: str) -> tuple[Path, ...]:
    """All files of a client, and of the driver of browsers if it is a service's; without its packages."""
    found = [
        path
        for path in sorted((PACKAGE / folder).rglob("*"))
        if path.is_file() and PACKAGES not in path.parts and not path.name.startswith(".")
    ]
    if folder != DRIVER and any(
        DRIVER.removeprefix("tools/") in path.read_text() for path in found if path.suffix == ".mjs"
    ):
        found += _client(DRIVER)
    return tuple(found)


def _own(text: str) -> Iterator[Path]:
    """The path, if it is one of a plain file that the distribution did not bring."""
    if not text.startswith("/") or "\0" in text or len(text) > 4096:
        return
    if text.startswith(NOT_LOOKED_INTO) and not text.startswith(LOCAL):
        return
    path = Path(text)
    try:
        if stat.S_ISREG(path.stat().st_mode):
            yield path
    except OSError:
        return  # it may be made during the run


def _file(path: Path) -> File:
    try:
        status = path.stat()
        return File(path=str(path), sha256=_digest(path, status.st_mtime_ns, status.st_size))
    except OSError as error:
        raise PlanError(
            f"a command names a file that cannot be read: {error.strerror}", where=str(path)
        ) from None


@lru_cache(maxsize=4096)
def _digest(path: Path, _modified_ns: int, _size: int) -> str:
    """Of thousands of runs that name one file it is read once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
