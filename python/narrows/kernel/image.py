"""The cache of built kernels: where one lies, what it was made of, and which one is to be used.

A build's directory is named `<recipe>-<source>`, and `-profiled` if it was laid out by a profile, which makes
it faster and is no part of what it is. The recipe is everything of ours that decides the result
(configuration fragment, C files, patches, training, compiler, version of the build's steps), the source is
the kernel's and iproute2's versions. Building is `build.py`'s, fetching `source.py`'s.
"""

import hashlib
import importlib.resources
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows import data
from narrows.errors import KernelError

BUILD_STEPS_VERSION = 2
"""Raise it when `build.py` changes what comes out of the same source, fragment, C files and patches."""

KERNEL_DIR = data.at("kernel")
FRAGMENT = KERNEL_DIR / "narrows.config"
SOURCES = KERNEL_DIR / "src"
PATCHES = KERNEL_DIR / "patches"
TRAINING = KERNEL_DIR / "training"
ANOTHER = "another cache: NARROWS_CACHE=DIR"
"""A remedy."""


@dataclass(frozen=True)
class KernelImage:
    """One built kernel: the executable, the tools that go with it, and what it was made of."""

    path: Path
    id: str
    tools_dir: Path | None
    info: dict[str, Any]

    @property
    def directory(self) -> Path:
        return self.path.parent

    @property
    def is_profiled(self) -> bool:
        """Whether it was laid out by a profile of its own traffic. Builds that do not say were, unless they
        have no patch of `speed`."""
        patches = map(str, self.info.get("patches", ()))
        return bool(self.info.get("profiled", any(name.startswith("speed/") for name in patches)))

    @property
    def starts_in_order(self) -> bool:
        """Whether its parts start in Linux' order (`initcalls`). Earlier profiled builds did not, and so gave
        other bytes under the id of those that are not profiled: none of those is used."""
        return not self.is_profiled or bool(self.info.get("in_order"))

    @property
    def tree(self) -> Path:
        """What modules are built against."""
        return self.directory / "build"


def cache_dir() -> Path:
    """`$NARROWS_CACHE`, else `narrows` below `$XDG_CACHE_HOME`, else below `~/.cache`."""
    if chosen := os.environ.get("NARROWS_CACHE"):
        return Path(chosen).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "narrows"


def compiler() -> str:
    """The first line of `gcc --version`; what a compiler is called decides what it makes."""
    try:
        shown = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise KernelError("gcc does not run", remedy="apt-get install gcc libc6-dev make") from error
    return shown.stdout.splitlines()[0]


def sources() -> dict[str, Path]:
    """Our C files, by their place in the kernel's tree."""
    return {file.relative_to(SOURCES).as_posix(): file for file in sorted(SOURCES.rglob("*.[ch]"))}


Level = tuple[int, int]
"""Version and patch level of Linux."""


def patches(speed: bool = True, level: Level | None = None) -> dict[str, Path]:
    """What is changed in Linux' own files, by room and name, in the order of application: first what the
    laboratory needs, then, unless `speed` is false, what only makes it faster.

    Of an older `level` a patch of the room `lab-before-X.Y` takes the place of its namesake in `lab`.
    """
    lab = {p.name: f"lab/{p.name}" for p in (PATCHES / "lab").glob("*.patch")}
    older = {_before(room): room for room in PATCHES.glob("lab-before-*")}
    for before in sorted(older, reverse=True) if level is not None else ():
        if level is not None and level < before:
            lab |= {p.name: f"{older[before].name}/{p.name}" for p in older[before].glob("*.patch")}
    fast = [f"speed/{p.name}" for p in sorted((PATCHES / "speed").glob("*.patch"))] if speed else []
    return {name: PATCHES / name for name in (*(lab[name] for name in sorted(lab)), *fast)}


def fragments(level: Level | None = None) -> dict[str, Path]:
    """What the configuration has on top of tinyconfig, by room and name; of an older `level` the `.config` of
    each room `lab-before-X.Y` too, for what it would choose otherwise."""
    rooms = sorted((room for room in PATCHES.glob("lab-before-*")), key=_before) if level is not None else ()
    more = [
        file
        for room in rooms
        if level is not None and level < _before(room)
        for file in room.glob("*.config")
    ]
    return {FRAGMENT.name: FRAGMENT, **{f"{file.parent.name}/{file.name}": file for file in more}}


def _before(room: Path) -> Level:
    major, minor = room.name.removeprefix("lab-before-").split(".")
    return int(major), int(minor)


def recipe(own: str = "", speed: bool = True, level: Level | None = None) -> str:
    """Eight hex digits over fragment, C files, patches, training, compiler and build steps.

    `own` are further lines of configuration. Without `speed` neither its patches nor the training count."""
    if not FRAGMENT.is_file():
        raise KernelError(
            f"no kernel configuration at {FRAGMENT}",
            remedy="install narrows again, or set NARROWS_KERNEL to a built kernel's directory",
        )
    digest = hashlib.sha256()
    training = {file.name: file for file in sorted(TRAINING.glob("*.[cp]*"))} if speed else {}
    for name, file in {**fragments(level), **sources(), **patches(speed, level), **training}.items():
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    if own:
        digest.update(b"own\0" + own.encode() + b"\0")
    digest.update(compiler().encode() + b"\0" + str(BUILD_STEPS_VERSION).encode())
    return digest.hexdigest()[:8]


def is_of_today(image: KernelImage) -> bool:
    """Whether it was made of what is here now; what it was made from may be any version or tree."""
    release = re.match(r"(\d+)\.(\d+)", str(image.info.get("release", "")))
    level = None if release is None or "named" not in image.info else (int(release[1]), int(release[2]))
    return image.info.get("recipe") in {recipe(speed=speed, level=level) for speed in (True, False)}


def made_of() -> str:
    """SHA-256 over all of ours that a kernel is made of, whatever the compiler."""
    digest = hashlib.sha256()
    training = {file.name: file for file in sorted(TRAINING.glob("*.[cp]*"))}
    for name, file in {FRAGMENT.name: FRAGMENT, **sources(), **patches(), **training}.items():
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def packaged() -> KernelImage | None:
    """The kernel of the package `narrows-kernel`, None without. KernelError for one of another narrows."""
    try:
        directory = Path(str(importlib.resources.files("narrows_kernel")))
    except ModuleNotFoundError:
        return None
    image = load(directory)
    if image.info.get("made_of") != made_of() or not image.starts_in_order:
        raise KernelError(
            f"the package narrows-kernel in {directory} is not of this version of narrows",
            remedy="pip install both wheels of one release, or pip uninstall narrows-kernel",
        )
    return image


def load(directory: Path) -> KernelImage:
    """The kernel that was built into `directory`."""
    try:
        info = json.loads((directory / "info.json").read_text())
    except PermissionError as error:
        raise unreadable(directory) from error
    except (OSError, ValueError) as error:
        raise KernelError(
            f"no whole kernel build in {directory}: {error}", remedy="narrows kernel build"
        ) from error
    tools = directory / "tools"
    return KernelImage(directory / "linux", str(info["id"]), tools if tools.is_dir() else None, info)


def built(recipe_id: str) -> list[KernelImage]:
    """Whole builds of this recipe in the cache, newest first; none that has a name (`named`)."""
    of_it = [image for image in whole_builds() if image.directory.name.startswith(f"{recipe_id}-")]
    return [image for image in of_it if "named" not in image.info and image.starts_in_order]


def whole_builds() -> list[KernelImage]:
    """All whole builds in the cache, newest first."""
    root = cache_dir() / "kernel"
    try:
        names = [entry.name for entry in os.scandir(root) if not entry.name.startswith(".")]
        infos = [root / name / "info.json" for name in names]
        made = {file: file.stat().st_mtime for file in infos if file.is_file()}
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise KernelError("the cache of kernels is no directory", where=str(root), remedy=ANOTHER) from error
    except PermissionError as error:
        raise unreadable(Path(error.filename or root)) from error
    return [load(file.parent) for file in sorted(made, key=lambda file: made[file], reverse=True)]


def unreadable(path: Path) -> KernelError:
    """A cache that belongs to somebody who shares it with nobody."""
    return KernelError(
        "the kernel in the cache cannot be read",
        where=str(path),
        remedy=f"its owner shares it with chmod -R a+rX {cache_dir()}; or {ANOTHER}",
    )


def find() -> KernelImage:
    """The kernel to run: `$NARROWS_KERNEL` (a build's directory), else the newest build of today's recipe,
    else the one of the package narrows-kernel."""
    if chosen := os.environ.get("NARROWS_KERNEL"):
        return load(Path(chosen).expanduser().absolute())
    ready = packaged()
    if ready is not None and shutil.which("gcc") is None:
        return ready  # without a compiler no recipe can be named, so nothing can be built
    images = built(recipe())
    if not images and ready is not None:
        return ready
    if not images:
        raise KernelError(
            f"the kernel under test has not been built (none for this recipe in {cache_dir() / 'kernel'})",
            remedy="narrows kernel build (5 to 9 minutes on two cores, once), or pip install narrows-kernel",
        )
    return images[0]
