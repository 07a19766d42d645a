"""The kernel modules that an experiment brings, as its plan states them. Loads nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

from narrows.plan.model import Module
from narrows.spec.observe import machine


def modules(made: machine) -> tuple[Module, ...]:
    """Every module with the digest of its file; a name is looked up beside the experiment file."""
    beside = Path(made.where.rpartition(":")[0]).absolute().parent
    return tuple(_module(made, beside, *words.split(maxsplit=1)) for words in made["modules"])


def _module(made: machine, beside: Path, file: str, parameters: str = "") -> Module:
    path = beside / Path(file).expanduser()
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        made.fail(f"modules: {path}: {error.strerror}", "kernel/README.md tells how to build a module")
    return Module(name=path.stem, path=str(path), sha256=digest, parameters=parameters)
