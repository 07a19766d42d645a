"""Which cores the guests of this process run on: those on which no other narrows on this machine runs any.

A guest is several threads that take turns, so it runs on one core; two processes that both began with the
first core would share it while others stand idle. A core is held by a lock on a file, which ends with the
process.
"""

import fcntl
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from narrows.engine.guest_disk import memory_base

FOLDER = "narrows-cores"
_held: dict[int, int] = {}
"""The open lock file by core, until this process ends."""


def choose(cpus: Sequence[int], count: int) -> list[int]:
    """So many cores of these: first those that this process has or gets, then the rest in turn. Where no lock
    can be had, all count as free."""
    mine = [cpu for cpu in cpus if cpu in _held]
    for cpu in cpus:
        if len(mine) >= count:
            break
        if cpu not in mine and _take(cpu):
            mine.append(cpu)
    rest = [cpu for cpu in cpus if cpu not in mine]
    # Where all are somebody's, not everybody takes the first.
    turn = os.getpid() % len(rest) if rest else 0
    ordered = [*mine, *rest[turn:], *rest[:turn]]
    return [ordered[number % len(ordered)] for number in range(count)]


def _take(cpu: int) -> bool:
    folder = memory_base() / FOLDER
    try:
        file = _open(folder, cpu)
    except OSError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return False
    _held[cpu] = file
    return True


def _open(folder: Path, cpu: int) -> int:
    """The lock file, which every user of this machine may lock and none write."""
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(0o1777)
    path = folder / str(cpu)
    with suppress(FileExistsError, PermissionError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDONLY, 0o444))
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{path} is no file")
    return file
