"""What of the cache of kernels nobody needs any more, and removing it.

Kept are the newest build of today's recipe, with and without what only makes it faster, the one that
`NARROWS_KERNEL` names, and those with configuration of their own or of another version or tree, which
somebody chose. Half-made builds go if nobody is making them.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from narrows.errors import KernelError
from narrows.kernel import image
from narrows.kernel.source import TREE


@dataclass(frozen=True)
class Unneeded:
    """A directory of the cache, why it is not needed, and what it takes."""

    directory: Path
    why: str
    bytes: int


def unneeded() -> list[Unneeded]:
    """All of it, in the order of names."""
    builds = image.whole_builds()
    today = {speed: image.recipe(speed=speed) for speed in (True, False)}
    kept = {images[0].directory for recipe in today.values() if (images := image.built(recipe))}
    if chosen := os.environ.get("NARROWS_KERNEL"):
        kept.add(Path(chosen).expanduser().absolute())
    found = []
    for build in builds:
        name = str(build.info.get("named", ""))
        tree = Path(name.removeprefix(TREE)) if name.startswith(TREE) else None
        is_gone = tree is not None and not tree.is_dir()
        named = bool(name) and image.is_of_today(build) and not is_gone
        if build.directory in kept or build.info.get("own_config") or named:
            continue
        is_of_today = build.info.get("recipe") in today.values()
        why = "older than another of today's recipe" if is_of_today else "of another recipe"
        why = f"of {tree}, which is gone" if is_gone else why
        found.append(Unneeded(build.directory, why, _size(build.directory)))
    root = image.cache_dir() / "kernel"
    for objects in root.glob(".tree-*") if root.is_dir() else ():
        of = objects / "of"
        tree = Path(os.fsdecode(of.read_bytes())) if of.is_file() else None
        if tree is None or not tree.is_dir():
            found.append(Unneeded(objects, f"objects of {tree or 'a tree'}, which is gone", _size(objects)))
    for half in root.glob(".build-*") if root.is_dir() else ():
        with _locked(root / f".lock-{half.name.removeprefix('.build-').rpartition('-')[0]}") as free:
            if free:
                found.append(Unneeded(half, "half-made", _size(half)))
    return sorted(found, key=lambda one: one.directory.name)


def remove(what: Unneeded) -> None:
    """Remove it, whole builds under a name that nobody takes for a kernel first."""
    gone = what.directory.with_name(f".build-removed-{what.directory.name.lstrip('.')}")
    try:
        what.directory.rename(gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise KernelError(
            f"cannot be removed: {error.strerror}",
            where=str(what.directory),
            remedy="whoever owns the cache can",
        ) from error


def _size(directory: Path) -> int:
    return sum(file.lstat().st_blocks * 512 for file in directory.rglob("*"))


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Whether nobody builds under this lock."""
    try:
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
    except PermissionError:
        yield False
