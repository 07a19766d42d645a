"""ELF files: what keeps a program from being started here (another machine's code, a library that is not
there), and where in memory a symbol of it is.

Asked before a guest boots; a program of the distribution's own directories is taken to be right.
"""

import platform
import re
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from narrows.plan.files import LOADER, LOCAL, NOT_LOOKED_INTO

MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}
"""e_machine of the header (ELF gABI)."""
SYMTAB = 2


@dataclass(frozen=True)
class Lacks:
    """Why it cannot be started, and what helps."""

    what: str
    remedy: str


def lacks(path: Path, env: Mapping[str, str]) -> Lacks | None:
    """None where nothing is known to be wrong, or where it is no ELF file."""
    if str(path).startswith(NOT_LOOKED_INTO) and not str(path).startswith(LOCAL):
        return None
    status = path.stat()
    return _lacks(path, tuple(sorted(env.items())), status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1024)
def _lacks(path: Path, env: tuple[tuple[str, str], ...], _modified_ns: int, _size: int) -> Lacks | None:
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        return None
    code = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    machine = MACHINES.get(code, f"a machine of number {code}")
    if machine != platform.machine():
        return Lacks(f"is a program for {machine}, and this is {platform.machine()}", "build it for this one")
    loader = LOADER.search(head)
    if loader is None:
        return None  # it is linked statically
    asked = [loader[0].decode(), "--list", str(path)]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, env=dict(env), check=False)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    # The loader ends at the first library that it does not find.
    missing = re.search(r"([\w.+-]+\.so[\w.]*): cannot open shared object", done.stderr)
    if missing is None:
        return None
    return Lacks(f"needs {missing[1]}, which the loader does not find", "install it, or env LD_LIBRARY_PATH")


def symbol(path: Path, name: str) -> int | None:
    """Where a 64-bit program that is not moved when loaded has a symbol; None if it is stripped of it, or is
    not there."""
    try:
        return _symbol(path, name, path.stat().st_mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=16)
def _symbol(path: Path, name: str, _modified_ns: int) -> int | None:
    image = path.read_bytes()
    if not image.startswith(b"\x7fELF\x02\x01"):
        return None
    (table,), (size, count) = struct.unpack_from("<Q", image, 0x28), struct.unpack_from("<HH", image, 0x3A)
    # Of a section header (Elf64_Shdr): type, offset, size, link.
    sections = [struct.unpack_from("<4xI16xQQI", image, table + number * size) for number in range(count)]
    for kind, offset, length, link in sections:
        if kind != SYMTAB:
            continue
        names = image[sections[link][1] :][: sections[link][2]]
        wanted = names.find(f"\0{name}\0".encode()) + 1
        for at, _, _, _, value, _ in struct.iter_unpack("<IBBHQQ", image[offset : offset + length]):
            if wanted and at == wanted:
                return int(value)
    return None
