"""Runs that cannot be read: each is left out, named and counted, and the rest is shown.

Whoever opens a directory of results notes here what it leaves out; the command line says so at its end, with
exit status 1, and the site on its pages. Nothing is printed here.
"""

from pathlib import Path

from narrows.errors import NarrowsError

_noted: dict[Path, str] = {}


def leave_out(folder: Path, why: NarrowsError | str) -> None:
    """Note a run that is left out."""
    text = why if isinstance(why, str) else why.message
    at = "" if isinstance(why, str) or why.where is None else Path(why.where).name
    where = "" if at in ("", folder.name) else f"{at}: "
    _noted[folder.resolve()] = where + text.removeprefix(f"run {folder.name}: ")


def left_out(below: Path | None = None) -> dict[Path, str]:
    """What is left out, of one directory of results or of all that were opened, and why."""
    inside = None if below is None else below.resolve()
    return {
        path: why for path, why in sorted(_noted.items()) if inside is None or inside in (path, *path.parents)
    }


def forget(below: Path) -> None:
    """The directory is read again: it may have been put right."""
    for path in left_out(below):
        del _noted[path]
