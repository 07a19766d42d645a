"""A tool of a person's own: a folder with the parts of a tool, loaded from where it lies.

The modules of one content are loaded once, as a package of their own name, so that parts import each other as
`from . import helper`. What is wrong in the folder is one error with its file and line.
"""

import hashlib
import importlib
import importlib.machinery
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from narrows.errors import NarrowsError

PREFIX = "narrows_own_tool_"
MOST_BYTES = 16 * 2**20
"""The most bytes of all files together: each run keeps a copy."""


@dataclass(frozen=True)
class Folder:
    """A folder whose content is known: relative name → SHA-256 (hex)."""

    path: Path
    files: dict[str, str]
    raises: type[NarrowsError]
    """What an error here is: one of the experiment, or one of what is stored."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.path.name

    @property
    def package(self) -> str:
        """What its modules are called; another content has another name."""
        text = repr((str(self.path), sorted(self.files.items())))
        return f"{PREFIX}{self.name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def part(self, name: str) -> ModuleType | None:
        """The module of a part; None where there is no such file."""
        if f"{name}.py" not in self.files:
            return None
        _known[self.package] = self
        if self.package not in sys.modules:
            package = ModuleType(self.package)
            package.__path__ = [str(self.path)]
            package.__spec__ = importlib.machinery.ModuleSpec(self.package, None, is_package=True)
            sys.modules[self.package] = package
            importlib.invalidate_caches()
        kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the folder stays as it is
        try:
            module: ModuleType = self.guard(name, importlib.import_module, f"{self.package}.{name}")
        finally:
            sys.dont_write_bytecode = kept
        return module

    def guard(self, part: str, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call something of a part; whatever its code raises is an error with file and line."""
        try:
            return call(*args, **options)
        except NarrowsError as error:
            if error.where is None:
                error.where = self._line(error.__traceback__, part)
            raise
        except SyntaxError as error:
            where = f"{error.filename or self.path / part}:{error.lineno or 1}"
            raise self.raises(f"not Python: {error.msg}", where=where) from None
        except (Exception, SystemExit) as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            where = self._line(error.__traceback__, part)
            raise self.raises(f"the tool {self.name} raised {what}", where=where) from None

    def fail(self, part: str, message: str, remedy: str | None = None) -> NarrowsError:
        """The error of a part as a whole."""
        return self.raises(message, where=f"{self.path / part}.py", remedy=remedy)

    def _line(self, traceback: TracebackType | None, part: str) -> str:
        line = f"{self.path / part}.py"
        while traceback is not None:
            file = traceback.tb_frame.f_code.co_filename
            if Path(file).is_relative_to(self.path):
                line = f"{file}:{traceback.tb_lineno}"
            traceback = traceback.tb_next
        return line


_known: dict[str, Folder] = {}


def of(kind: type) -> Folder | None:
    """The folder that a class was loaded from; None for what comes with narrows."""
    return _known.get(kind.__module__.partition(".")[0])


def read(path: Path, raises: type[NarrowsError]) -> Folder:
    """The folder and its content, without hidden files and what Python keeps."""
    files: dict[str, str] = {}
    total = 0
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path)
        if any(part.startswith(".") or part == "__pycache__" for part in name.parts) or not file.is_file():
            continue
        total += file.stat().st_size
        if total > MOST_BYTES:
            raise raises(
                f"the folder holds more than {MOST_BYTES // 2**20} MiB, and every run keeps a copy",
                where=str(path),
                remedy="keep large files elsewhere, and name them by their absolute path",
            )
        try:
            files[name.as_posix()] = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError as error:
            raise raises(f"cannot be read: {error.strerror}", where=str(file)) from None
    return Folder(path, files, raises)
