"""Puts the kernel modules that a plan names into the run's directory, where the guest loads them.

They stay there: what was loaded is part of the record.
"""

import hashlib
from pathlib import Path

from narrows.engine import layout
from narrows.errors import EngineError
from narrows.plan.model import Plan


def place(plan: Plan, directory: Path) -> None:
    """Copy each module, if it is still the file that the plan was made with."""
    for module in plan.machine.modules:
        try:
            content = Path(module.path).read_bytes()
        except OSError as error:
            raise EngineError(f"the module {module.path} cannot be read: {error.strerror}") from None
        if hashlib.sha256(content).hexdigest() != module.sha256:
            raise EngineError(
                f"the module {module.path} was changed after this run was planned",
                remedy="run the same command again",
            )
        folder = directory / layout.MODULES
        folder.mkdir(exist_ok=True)
        (folder / f"{module.name}.ko").write_bytes(content)
