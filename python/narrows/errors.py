"""The errors a person may see: one clear message with where, what and the remedy.

Everything below the command line raises these; only the command line prints them. Anything else that is
raised is a defect of narrows.
"""

import difflib
from collections.abc import Iterable


class NarrowsError(Exception):
    """Base of all errors with a message for the person.

    `where` is `file:line` or a run's id, `remedy` what to do about it.
    """

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  → {self.remedy}" if self.remedy else text


class UsageError(NarrowsError):
    """The command line was called with something that cannot be."""

    exit_code = 2


class UnitError(NarrowsError, ValueError):
    """A quantity cannot be read: no unit, the wrong unit, or an impossible value."""


class SpecError(NarrowsError):
    """The experiment file is wrong. `where` is its file:line."""

    exit_code = 2


class SelectError(UsageError):
    """`--only` names an axis or a label that the experiment does not have."""


class PlanError(NarrowsError):
    """A plan file cannot be read or lowered."""


class KernelError(NarrowsError):
    """The kernel under test is missing or does not build."""


class EngineError(NarrowsError):
    """An engine cannot carry out a plan on this machine."""


class StoreError(NarrowsError):
    """A result directory cannot be read or written."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` was probably meant to be, or None."""
    by_folded = {k.casefold(): k for k in known}
    match = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.55)
    return by_folded[match[0]] if match else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name: the nearest right one, and the list of all."""
    names = list(known)
    close = nearest(name, names)
    listing = ", ".join(names) if names else "none"
    return f"did you mean {close}? Known: {listing}" if close else f"known: {listing}"
