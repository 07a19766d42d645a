"""Boots a kernel that was just built: to see that it runs here, and to exercise one that counts its
branches, so that its build can lay out what packets pass.

The runs are ordinary ones; their results are thrown away.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from narrows.engine import layout
from narrows.engine.types import Carried, Limits, RunRequest
from narrows.engine.uml import UmlEngine
from narrows.errors import EngineError, KernelError
from narrows.kernel import KernelImage
from narrows.plan.build import plan_file
from narrows.plan.model import Plan

TRIAL = '''"""Does a kernel run here?"""

from narrows.spec import Link, bulk, fq_codel

link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=fq_codel())
flow = bulk(cca="cubic", duration="200 ms")
'''


def train(image: KernelImage, counts: Path, plans: Sequence[Plan]) -> Iterator[tuple[int, int]]:
    """Run the plans one after another; the counts add up. Yields how many are done, and of how many."""
    engine = UmlEngine(image, counts)
    engine.check(list(plans))
    for done, plan in enumerate(plans):
        yield done, len(plans)
        if fault := _carried(engine, plan):
            raise EngineError(
                f"profiling the kernel: {plan.experiment}, {plan.key}: {fault}",
                remedy="narrows kernel build tries again",
            )
    yield len(plans), len(plans)


def boot(image: KernelImage) -> None:
    """Boot it once, with a flow of 200 ms. KernelError, with what the kernel said, where it does not run;
    EngineError where this host could not try."""
    with tempfile.TemporaryDirectory(prefix="narrows-trial-") as name:
        file = Path(name) / "trial.py"
        file.write_text(TRIAL)
        (plan,) = plan_file(file).plans
    engine = UmlEngine(image)
    engine.check([plan])
    if fault := _carried(engine, plan):
        raise KernelError(
            f"the kernel {image.info.get('release')} ({image.id}) does not run on this host: {fault}",
            remedy="narrows doctor says what this host lacks; another version: narrows kernel build --help",
        )


def _carried(engine: UmlEngine, plan: Plan) -> str | None:
    """Run it once; what went wrong."""
    with tempfile.TemporaryDirectory(prefix="narrows-training-") as name:
        directory = Path(name)
        (directory / layout.PLAN).write_text(plan.to_json())
        carried = engine.run(RunRequest(plan, directory, engine.slots(1)[0], Limits(wall_s=900)))
        return _fault(carried, directory)


def _fault(carried: Carried, directory: Path) -> str | None:
    """Why the run does not count: a kernel that was not exercised would be laid out by nothing."""
    if carried.error is not None:
        return carried.error.line()
    result = json.loads((directory / layout.RAW / layout.RESULT).read_bytes())
    return None if result["status"] == "ok" else f"the agent failed: {json.dumps(result['error'])}"
