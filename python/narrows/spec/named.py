"""Finds an experiment: a path is a path, and a bare name is an experiment that comes with the package.

Those are the examples (`experiments/` in a checkout, part of the package in a wheel) and the experiments of
the studies (`studies/<study>/experiments/`). No list names them: a file in one of these folders is there.
"""

import ast
from functools import cache
from pathlib import Path

from narrows.errors import SpecError, nearest

PACKAGE = Path(__file__).resolve().parents[1]
EXAMPLES = PACKAGE / "experiments"
STUDIES = PACKAGE / "studies"


def folders() -> list[Path]:
    """The folders of experiments that come with the package: the examples' first, then each study's."""
    return [EXAMPLES, *sorted(STUDIES.glob("*/experiments"))]


@cache
def named() -> dict[str, Path]:
    """Every experiment that comes with the package, by its name (the file's stem)."""
    return {file.stem: file for folder in folders() for file in sorted(folder.glob("*.py"))}


def question(file: Path) -> str:
    """What an experiment asks: the first line of its docstring, read without running the file."""
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return words.strip().partition("\n")[0]


def experiment_file(given: Path | str) -> Path:
    """The file that a person means; the caller finds out whether a path can be read.

    A word with a suffix or a slash, or that is a file here, is a path. Any other is a name; `SpecError` with
    the nearest one if no experiment is called that.
    """
    path = Path(given)
    if path.suffix or len(path.parts) != 1 or path.is_file():
        return path
    if path.name in named():
        return _shown(named()[path.name])
    close = nearest(path.name, named())
    raise SpecError(
        f"no experiment is called {path.name}",
        remedy=f"did you mean {close}?" if close else "narrows plan lists those that come with narrows",
    )


def _shown(file: Path) -> Path:
    """From this directory where that is shorter, as errors and plans name it."""
    real, here = file.resolve(), Path.cwd()
    return real.relative_to(here) if real.is_relative_to(here) else real
