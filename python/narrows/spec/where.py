"""Where in the experiment's files a constructor was called, so that an error can name the line.

Nothing here reads the files.
"""

import os
import sys
from types import TracebackType

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_WRITTEN = tuple(os.path.join(_PACKAGE, folder, "") for folder in ("experiments", "studies"))
"""What lies in the package and is written as a person's experiment is: examples and studies."""


def _is_ours(filename: str) -> bool:
    path = os.path.abspath(filename)
    return (path.startswith(_PACKAGE) and not path.startswith(_WRITTEN)) or filename.startswith("<frozen")


def caller() -> str:
    """`file:line` of the nearest call from outside narrows."""
    frame = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        if frame.f_back is None:
            return "unknown"
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def called_from_outside() -> bool:
    """Whether the caller of the function that asks is not narrows' own code."""
    return not _is_ours(sys._getframe(2).f_code.co_filename)


def of_traceback(traceback: TracebackType | None, experiment: str) -> str | None:
    """`file:line` of the innermost frame of the experiment file, or None if it has none."""
    found = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == experiment:
            found = f"{experiment}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return found
