"""Finds the tools by their folders, and the parts of each. What is in a part is its own floor's affair.

Looking up names imports no part: a tool's `spec.py` imports `narrows.spec`, which looks up names.
"""

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

import narrows.tools

SPEC, LOWER, PARSE, READINGS = "spec", "lower", "parse", "readings"


@cache
def folders() -> tuple[str, ...]:
    return tuple(sorted(each.name for each in pkgutil.iter_modules(narrows.tools.__path__) if each.ispkg))


@cache
def words() -> dict[str, str]:
    """The folder of every word that an experiment may use."""
    found: dict[str, str] = {}
    for folder in folders():
        for word in getattr(importlib.import_module(f"narrows.tools.{folder}"), "WORDS", (folder,)):
            found[word] = folder
    return found


@cache
def crates() -> dict[str, tuple[str, ...]]:
    """Where the Rust parts of each folder's tool lie, below the checkout; tools without any are left out."""
    packages = {folder: importlib.import_module(f"narrows.tools.{folder}") for folder in folders()}
    return {name: package.CRATES for name, package in packages.items() if hasattr(package, "CRATES")}


def part(folder: str, name: str) -> ModuleType | None:
    """A part of a tool; None where the tool has none."""
    full = f"narrows.tools.{folder}.{name}"
    return importlib.import_module(full) if importlib.util.find_spec(full) else None


def parts(name: str) -> Iterator[ModuleType]:
    """That part of every tool that has it."""
    for folder in folders():
        found = part(folder, name)
        if found is not None:
            yield found


def constructor(word: str) -> Any:
    return getattr(part(words()[word], SPEC), word)


def function(word: str, name: str, called: str) -> Any:
    """A function of a part of the tool that has this word; None where there is none of that name."""
    folder = words().get(word)
    return None if folder is None else getattr(part(folder, name), called, None)
