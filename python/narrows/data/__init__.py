"""What the package carries beside its code: the kernel's configuration and patches, the programs that are
compiled, and the evidence of the studies.

In a checkout these are links to the folders at its top; a wheel has the files themselves. Either way they lie
beside this module, so nothing asks where the checkout is.
"""

import os
from pathlib import Path

from narrows.errors import EngineError

HERE = Path(__file__).resolve().parent


def at(name: str) -> Path:
    """Where something that is carried lies; it need not be there (a checkout without a built agent)."""
    return HERE / name


def program(name: str, variable: str, remedy: str) -> Path:
    """A program of ours that is compiled: what an environment variable names, else the one that lies here, in
    a checkout the newest build. EngineError if there is none."""
    if chosen := os.environ.get(variable):
        path = Path(chosen).expanduser().absolute()
        if not path.is_file() or not os.access(path, os.X_OK):
            raise EngineError(f"{variable} names {path}, which is no program", remedy=remedy)
        return path
    path = at(f"bin/{name}")
    if not path.is_file():
        raise EngineError(f"{name} has not been built", remedy=remedy)
    return path
