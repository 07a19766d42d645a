"""Exercises a kernel that counts its branches, so that its build can lay out what packets pass.

The runs are ordinary ones; their results are thrown away.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from narrows.engine import layout
from narrows.engine.types import (
    Carried,
    Limits,
    RunRequest,
)
from narrows.engine.uml import UmlEngine
from narrows.errors import EngineError
from narrows.kernel import KernelImage
from narrows.plan.model import Plan


def train(image: KernelImage, counts: Path, plans: Sequence[Plan]) -> Iterator[tuple[int, int]]:
    """Run the plans one after another; the counts add up. Yields how many are done, and of how many."""
    engine = UmlEngine(image, counts)
    engine.check(list(plans))
    slot = engine.slots(1)[0]
    for done, plan in enumerate(plans):
        yield done, len(plans)
        with tempfile.TemporaryDirectory(prefix="narrows-training-") as name:
            directory = Path(name)
            (directory / layout.PLAN).write_text(plan.to_json())
            carried = engine.run(RunRequest(plan, directory, slot, Limits(wall_s=900)))
            fault = _fault(carried, directory)
        if fault is not None:
            raise EngineError(
                f"profiling the kernel: {plan.experiment}, {plan.key}: {fault}",
                remedy="narrows kernel build tries again",
            )
    yield len(plans), len(plans)


def _fault(carried: Carried, directory: Path) -> str | None:
    """Why the run does not count: a kernel that was not exercised would be laid out by nothing."""
    if carried.error is not None:
        return carried.error.line()
    result = json.loads((directory / layout.RAW / layout.RESULT).read_bytes())
    return None if result["status"] == "ok" else f"the agent failed: {json.dumps(result['error'])}"
