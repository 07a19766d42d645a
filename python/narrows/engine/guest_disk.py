"""Where a guest may write on the host: a private directory in memory, and the list handed to Landlock.

User-Mode Linux keeps the guest's memory in an unlinked file below TMPDIR; on a disk every page of it would be
written out, so it has to be a tmpfs.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHM = Path("/dev/shm")
PREFIX = "narrows-guest-"
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts")
_TMPFS_MAGIC = "tmpfs"


def memory_base() -> Path:
    """A directory on a tmpfs where that can be had, else the ordinary temporary directory."""
    if _filesystem(SHM) == _TMPFS_MAGIC and os.access(SHM, os.W_OK):
        return SHM
    return Path(tempfile.gettempdir())


def _filesystem(path: Path) -> str | None:
    """Type of the file system mounted there; None if it is no mount point."""
    for line in Path("/proc/mounts").read_text().splitlines():
        fields = line.split()
        if fields[1] == str(path):
            return fields[2]
    return None


def free_bytes() -> int:
    """Room for guests' memory files."""
    usage = os.statvfs(memory_base())
    return usage.f_bavail * usage.f_frsize


@contextmanager
def private_dir() -> Iterator[Path]:
    """A directory of one guest; gone afterwards. Those of dead processes are `sweep`'s."""
    path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=memory_base()))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep() -> None:
    """Remove what processes that were killed have left."""
    for path in memory_base().glob(f"{PREFIX}*"):
        pid = path.name[len(PREFIX) :].split("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(path, ignore_errors=True)
