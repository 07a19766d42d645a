"""Builds of source trees: what was compiled of a tree before is kept, so that an edit costs what it changes.

`root` is the cache's directory of kernels. What is kept of a tree lies in `.tree-<digest of its path>`: the
patched source with its objects, and `of`, the path. make compiles again what is newer than its object, so a
file is written only where its content is another.
"""

from __future__ import annotations

import filecmp
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

OBJECTS = (".o", ".a", ".cmd", ".d", ".gcda", ".gcno")


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


def for_modules(build: Path, copy: Path, without: tuple[str, ...]) -> None:
    """Copy what building a module needs: no objects, and nothing but make's files of what is `without`."""

    def left_out(folder: str, names: list[str]) -> set[str]:
        inside = Path(folder).relative_to(build).as_posix()
        is_without = any(inside == part or inside.startswith(f"{part}/") for part in without)
        return {
            name
            for name in names
            if name.endswith(OBJECTS)
            or name == ".git"
            or (name.startswith(("vmlinux", "linux")) and inside == "." and (build / name).is_file())
            or (is_without
            and (Path(folder) / name).is_file()
            and not name.startswith(("Makefile", "Kconfig", "Kbuild")))
        }  # fmt: skip

    shutil.copytree(build, copy, symlinks=True, ignore=left_out)


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
