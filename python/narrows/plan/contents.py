"""States the content that a service serves: the commands that make it, and a digest of them.

Nothing is made here: `narrows.engine.contents` does, once, before the first run that needs it.
"""

import hashlib
from functools import cache
from pathlib import Path

from narrows.errors import PlanError
from narrows.plan.identity import canonical_json
from narrows.plan.items import Content

PLACE = "@content"
"""In a command's words: the directory that holds all contents."""
IN_PACKAGE = "@checkout/"
"""At the beginning of a word: a file of the package, whose content counts."""
PACKAGE = Path(__file__).resolve().parents[1]
DIGITS = 16


@cache
def of(about: str, commands: tuple[tuple[str, ...], ...], programs: tuple[str, ...]) -> Content:
    """The content of these commands. PlanError if one names a file of the package that is not there."""
    files = sorted({word for command in commands for word in command if _is_file(word)})
    recipe = [commands, [(name, _digest(name)) for name in files]]
    made = hashlib.sha256(canonical_json(recipe).encode("ascii")).hexdigest()[:DIGITS]
    return Content(id=made, about=about, commands=commands, programs=programs)


def _is_file(word: str) -> bool:
    """Whether a word is a file: one of the package, or a person's own by its whole path."""
    return word.startswith(IN_PACKAGE) or (word.startswith("/") and Path(word).is_file())


def _digest(word: str) -> str:
    path = PACKAGE / word.removeprefix(IN_PACKAGE)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise PlanError(
            f"content needs a file that cannot be read: {error.strerror}", where=str(path)
        ) from None
