"""The files that a command names, with what is in them, so that a run is made again when one has changed.

A file is named by its absolute path, anywhere in an argument (`--config=/home/me/x.json`, inside the text of
`sh -c`) or in the environment; a program also by its name, if PATH finds it outside the system's own
directories. What the distribution brings is not looked into: the manifest has the versions of its tools.
The libraries that a named ELF file loads count, as the loader finds them. What a named file reads by itself,
such as a module that a script imports, is not looked into: `depends=[…]` names it, and `unknown_imports` says
whose is not named. Of the clients of narrows' own tools all files count, and of their packages the lock file.
"""

import hashlib
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from narrows.errors import PlanError
from narrows.plan.items import Command, File
from narrows.plan.model import Plan

SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
"""Where a guest looks for programs first, whatever its user's PATH is."""
NOT_LOOKED_INTO = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/dev/", "/proc/", "/sys/", "/run/")
LOCAL = "/usr/local/"
"""That of the system's directories which holds what its administrator put there."""
PACKAGE = Path(__file__).resolve().parents[1]
_CLIENT = re.compile(r"@checkout/(tools/\w+/client)")
LOADER = re.compile(rb"/lib[\w/]*/ld-[\w.-]+\.so\.\d+(?=\0)")
"""The loader that an ELF file names."""
PACKAGES, DRIVER = "node_modules", "tools/services/client"
_PATH = re.compile(r"(?<![\w.@/])/(?!/)[^\s\"'`;|&<>()$,=:]+")


INTERPRETERS = re.compile(r"(python|node|nodejs|perl|ruby|java|lua|php|Rscript)[\d.]*")
"""Programs that load what their scripts import."""
NOT_COUNTED = ("__pycache__", ".git")
"""In a folder that is named: what is made of its files, and their history."""


def with_files(item: Command, depends: Iterable[Path] = ()) -> Command:
    """The same command with its files, and with what it is said to depend on: files, and folders whole."""
    named = list(_named(item))
    env = tuple(sorted((name, text) for name, text in item.env.items() if name.startswith("LD_")))
    named += [library for path in named for library in _libraries(path, env)]
    found = {each.path: each for each in item.files}
    for path in (*named, *depends):
        found[str(path)] = File(path=str(path), sha256=digest(path))
    return item.model_copy(update={"files": tuple(found[path] for path in sorted(found))})


def unknown_imports(plans: Iterable[Plan]) -> list[str]:
    """Items, in the order of the plans, whose programs load what the runs' ids do not cover."""
    found = dict[str, None]()
    for plan in plans:
        for item in plan.traffic:
            if not isinstance(item, Command) or any(_CLIENT.search(word) for word in item.argv):
                continue
            scripted = any(INTERPRETERS.fullmatch(Path(program).name) for program in item.programs)
            if scripted and not {each.path for each in item.files} - set(map(str, _named(item))):
                found[item.id] = None
    return list(found)


def _libraries(path: Path, env: tuple[tuple[str, str], ...]) -> tuple[Path, ...]:
    status = path.stat()
    return _loaded(path, env, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _loaded(path: Path, env: tuple[tuple[str, str], ...], _modified_ns: int, _size: int) -> tuple[Path, ...]:
    """What the loader maps of an ELF file, by its own word, without what the distribution brought. The
    program itself is not begun: `--list` is the loader's. Of another kind of file nothing is known."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    if not head.startswith(b"\x7fELF"):
        return ()
    loader = LOADER.search(head)
    if loader is None:
        return ()  # it is linked statically
    try:
        shown = subprocess.run(
            [loader[0].decode(), "--list", str(path)],
            capture_output=True, text=True, timeout=10, env=dict(env), check=True,
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ()  # of another machine, or it lacks a library: the run says so
    return tuple(found for word in re.findall(r"=> (/\S+)", shown) for found in _own(word))


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
    client = [
        path
        for path in sorted((PACKAGE / folder).rglob("*"))
        if path.is_file() and PACKAGES not in path.parts and not path.name.startswith(".")
    ]
    if folder != DRIVER and any(
        DRIVER.removeprefix("tools/") in path.read_text() for path in client if path.suffix == ".mjs"
    ):
        client += _client(DRIVER)
    return tuple(client)


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


def digest(path: Path, of: Callable[[Path], str] | None = None) -> str:
    """SHA-256 (hex) of a file, or of a folder: of the names in it, and what is in them. `of`: how one file is
    read. PlanError if one cannot be."""
    of = of or _of_file
    if not path.is_dir():
        return of(path)
    whole = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        if each.is_file() and not set(NOT_COUNTED) & set(each.relative_to(path).parts):
            whole.update(f"{each.relative_to(path)}\0{of(each)}\n".encode())
    return whole.hexdigest()


def _of_file(path: Path) -> str:
    try:
        status = path.stat()
        return _digest(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise PlanError(
            f"a command names a file that cannot be read: {error.strerror}", where=str(path)
        ) from None


@lru_cache(maxsize=4096)
def _digest(path: Path, _modified_ns: int, _size: int) -> str:
    """A file that thousands of runs name is read once."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
