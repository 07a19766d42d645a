"""What of its host a worker lets a plan read, whose author need not be the worker's user: the system's own
directories, what narrows brings, and what the plan declares, each file with what is in it."""

import hashlib
import os
import site
import sys
from pathlib import Path

from narrows.errors import EngineError
from narrows.plan import files
from narrows.plan.items import Command
from narrows.plan.model import Plan

SYSTEM = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix"),
    "/proc/cpuinfo",
)
"""/home, /root, /var, /srv, /mnt, /proc and others are not among them."""
INTERPRETER = ("/proc", "/sys", sys.prefix, sys.base_prefix, *sys.path, *site.getsitepackages())
"""What this Python reads of its host. Landlock keeps other processes' memory and environment from it."""
Seen = tuple[str, int, int]
"""Path, device and inode."""


def declared(plan: Plan) -> list[Seen]:
    """The files that the plan's commands declare. EngineError for one that is not here as the plan was made
    with it: a path alone would open any file of this user."""
    found: list[Seen] = []

    def look(path: Path) -> str:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            found.append((str(path), status.st_dev, status.st_ino))
            return hashlib.file_digest(file, "sha256").hexdigest()

    for item in plan.traffic:
        for file in item.files if isinstance(item, Command) else ():
            path = Path(file.path)
            try:
                is_so = files.digest(path, look) == file.sha256
                if path.is_dir():  # which may be listed
                    found.append((str(path), path.stat().st_dev, path.stat().st_ino))
            except OSError as error:
                raise EngineError(f"{item.id}: {path} cannot be read: {error.strerror}") from None
            if not is_so:
                raise EngineError(
                    f"{item.id}: {path} is not what the plan was made with",
                    remedy="workers need the same file at the same path",
                )
    return found
