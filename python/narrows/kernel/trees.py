"""Builds of source trees: what was compiled of a tree before is kept, so that an edit costs what it changes.

`root` is the cache's directory of kernels. What is kept of a tree lies in `.tree-<digest of its path>`: the
patched source with its objects, and `of`, the path. make compiles again what is newer than its object, so a
file is written only where its content is another.
"""

import filecmp
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

OBJECTS = (".o", ".a", ".cmd", ".d", ".gcda", ".gcno")

FOR_MODULES = (
    "Makefile", "Kbuild", ".config", "Module.symvers", "COPYING",
    "include/linux/*.h", "include/net/**/*.h", "include/asm-generic/**/*", "include/generated/**/*",
    "include/config/auto.conf", "include/config/kernel.release",
    "scripts/*", "scripts/basic/*", "scripts/include/**/*", "scripts/mod/*",
    "arch/um/**/Makefile*", "arch/um/**/*.h", "arch/um/scripts/*",
    "arch/x86/Makefile*", "arch/x86/um/**/Makefile*", "arch/x86/um/**/*.h",
    # Modules may be made of Linux' own CCAs and qdiscs (kernel/modules).
    "net/core/*.h", "net/ipv4/*.[ch]", "net/sched/*.[ch]",
)  # fmt: skip
"""What building a module needs, besides the headers that the kernel itself was compiled from."""

HEADER = re.compile(r"(?m)^\s+(?:\./)?([\w./-]+\.h)\b")
"""In what make keeps of a file that it compiled."""


def place(root: Path, tree: Path) -> Path:
    """Where what was compiled of a tree is kept."""
    return root / f".tree-{hashlib.sha256(os.fsencode(tree)).hexdigest()[:12]}"


def renew(fresh: Path, kept: Path, tree: Path) -> None:
    """Make the kept source what `fresh` is, which goes; objects stay."""
    kept.mkdir(exist_ok=True)
    (kept / "of").write_bytes(os.fsencode(tree))
    build, listed = kept / "build", kept / "files"
    names = sorted(_files(fresh))
    if not build.is_dir() or not listed.is_file():
        shutil.rmtree(build, ignore_errors=True)
        fresh.rename(build)
    else:
        for name in names:
            _renew(fresh / name, build / name)
        for gone in set(listed.read_text(errors="surrogateescape").split("\0")) - set(names):
            (build / gone).unlink(missing_ok=True)
        shutil.rmtree(fresh)
    listed.write_text("\0".join(names), errors="surrogateescape")


def for_modules(build: Path, copy: Path) -> None:
    """Copy what building a module of one's own needs, an eighth of the tree."""
    wanted = {found.relative_to(build).as_posix() for one in FOR_MODULES for found in build.glob(one)}
    for made in build.rglob(".*.o.cmd"):
        wanted |= set(HEADER.findall(made.read_text(errors="replace")))
    for name in sorted(wanted):
        file = build / name  # a header of the machine's own compiler has a path from the root
        if file.is_file() and file.is_relative_to(build) and not name.endswith(OBJECTS):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy / name, follow_symlinks=False)


def _files(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        for name in names:
            yield (Path(folder) / name).relative_to(root).as_posix()


def _renew(fresh: Path, kept: Path) -> None:
    if fresh.is_symlink():
        if not kept.is_symlink() or os.readlink(kept) != os.readlink(fresh):
            kept.unlink(missing_ok=True)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.symlink_to(os.readlink(fresh))
    elif not kept.is_file() or kept.is_symlink() or not filecmp.cmp(fresh, kept, shallow=False):
        kept.unlink(missing_ok=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(fresh, kept)
