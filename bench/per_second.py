"""What a second of something costs: made for two lengths, the difference of their costs is a second's."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from measure import BenchError, Spread
from rows import Bench
from study import one

from narrows.plan.build import plan_file


def per_second(bench: Bench, text: Callable[[int], str], short_s: int, long_s: int) -> tuple[float, float]:
    """Wall seconds per virtual second, and those that it takes to start. `text`: the experiment of a length.
    What its programs are built of is not counted."""
    short, long = (_wall_s(bench, text(seconds)) for seconds in (short_s, long_s))
    each = (long - short) / (long_s - short_s)
    if each <= 0:
        raise BenchError(
            f"{long_s} s cost {long:.2f} s, and {short_s} s {short:.2f} s: too noisy to tell a second"
        )
    return each, short - short_s * each


def _wall_s(bench: Bench, text: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "what.py"
        file.write_text(text)
        (plan,) = plan_file(file).plans
    for content in plan.contents:
        bench.engine.make(content)
    return Spread.of([one(bench, plan).wall_s for _ in range(bench.repeats)]).median
