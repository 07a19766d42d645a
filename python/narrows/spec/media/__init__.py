"""Media: what is below IP on a link, one medium a file, each found by its name.

A medium's file has its words, and what it does turn by turn: numbers in, a schedule out.
"""

import importlib
import pkgutil

from narrows.spec.media.base import Medium

_FILES = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
WORDS: dict[str, type[Medium]] = {
    name: kind for file in _FILES for name, kind in vars(file).items()
    if isinstance(kind, type) and kind.__module__ == file.__name__ and Medium in kind.__mro__[1:]
}  # fmt: skip
