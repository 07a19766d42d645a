"""Queueing disciplines, one a file, each found by its name.

A file says all of its qdisc: its options with Linux' own defaults and limits, tc's words, where its kernel
keeps what, its statistics, and how figures show it. Nothing else names it. Looking up names imports no file.
"""

import importlib
import pkgutil
from functools import cache
from typing import Any


@cache
def names() -> tuple[str, ...]:
    """Every qdisc that Linux has and narrows knows."""
    return tuple(sorted(each.name for each in pkgutil.iter_modules(__path__)))


def named(name: str) -> Any:
    """The constructor of a name; None where there is none."""
    if name not in names():
        return None
    importlib.import_module("narrows.spec")  # which the files are words of, and which imports some of them
    return getattr(importlib.import_module(f"{__name__}.{name}"), name)


@cache
def every() -> tuple[Any, ...]:
    """All of them (`narrows.tc.qdisc.Qdisc`), in the order in which they are shown."""
    return tuple(sorted(map(named, names()), key=lambda each: each.order))


def of_kind(kind: str) -> Any:
    """The one that `tc` calls so."""
    return next(each for each in every() if (each.tc_kind or each.__name__) == kind)
