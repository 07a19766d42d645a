"""What the full study costs in core-hours, from a stratified sample of its runs.

Strata: low, middle and high rate × without and with cross traffic, since these decide how many packets there
are. From each, every AQM once, the rest (rate, burst shaping, seed) drawn with a fixed seed. A stratum's cost
is its mean times its number of runs; the standard error is that of a stratified mean.
"""

from __future__ import annotations

import math
import random
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from measure import BenchError, Cost, Spread, cost_of
from rows import Bench, Row

from narrows.engine import layout
from narrows.engine.types import Limits, RunFacts, RunRequest, Slot
from narrows.plan.build import plan_file
from narrows.plan.identity import run_id
from narrows.plan.model import Plan
from narrows.spec.named import experiment_file
from narrows.store.ingest import ingest

EXPERIMENT = experiment_file("aqm_study")
TESTBED_HOURS = 11.0
"""What the physical testbed needs for the same runs, one after the other in real time."""

Stratum = tuple[str, str]


def stratum(plan: Plan) -> Stratum:
    """Its third of the rates, and its cross traffic."""
    bps = plan.link.rate_down_bps or 0
    third = "low" if bps <= 300_000_000 else "middle" if bps <= 700_000_000 else "high"
    return third, plan.key["cross"]


def sample(plans: tuple[Plan, ...], per_queue: int) -> dict[Stratum, list[Plan]]:
    """`per_queue` runs of every AQM from every stratum."""
    cells: dict[Stratum, dict[str, list[Plan]]] = defaultdict(lambda: defaultdict(list))
    for plan in plans:
        cells[stratum(plan)][plan.key["queue"]].append(plan)
    draw = random.Random(1)
    return {
        name: [plan for queue in sorted(queues) for plan in draw.sample(queues[queue], per_queue)]
        for name, queues in sorted(cells.items())
    }


def one(bench: Bench, plan: Plan) -> Cost:
    """A run as `narrows run` does it: the guest, then its tables and metrics."""
    directory = Path(tempfile.mkdtemp(prefix="narrows-bench-"))
    (directory / layout.PLAN).write_text(plan.to_json())
    info = bench.engine.info

    def work() -> None:
        limits = Limits(wall_s=1200, stall_s=120)
        carried = bench.engine.run(RunRequest(plan, directory, Slot(0, bench.cpu), limits))
        run = run_id(plan, kernel=info.kernel_id, agent=info.agent_id)
        done = ingest(directory, RunFacts(run, info, carried))
        if done.error is not None:
            raise BenchError(f"{plan.key}: {done.error.line()}")

    try:
        own = time.process_time()
        cost = cost_of(work)
        return Cost(cost.wall_s, cost.cpu_s + time.process_time() - own)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def total(costs: dict[Stratum, list[Cost]], sizes: dict[Stratum, int], what: str) -> tuple[float, float]:
    """Hours of all runs and the standard error of that."""
    hours, variance = 0.0, 0.0
    for name, some in costs.items():
        values = [getattr(cost, what) for cost in some]
        hours += sizes[name] * statistics.fmean(values) / 3600
        variance += (sizes[name] / 3600) ** 2 * statistics.variance(values) / len(values)
    return hours, math.sqrt(variance)


def cost(bench: Bench, per_queue: int) -> Row:
    """Core-hours of all runs of the study."""
    plans = plan_file(EXPERIMENT).plans
    chosen = sample(plans, per_queue)
    runs = sum(len(some) for some in chosen.values())
    costs: dict[Stratum, list[Cost]] = defaultdict(list)
    rows: list[dict[str, Any]] = []
    for name, some in chosen.items():
        for plan in some:
            bench.say(
                f"study, run {len(rows) + 1} of {runs}: {' '.join(f'{k}={v}' for k, v in plan.key.items())}"
            )
            spent = one(bench, plan)
            costs[name].append(spent)
            rows.append({"key": plan.key, "wall_s": spent.wall_s, "cpu_s": spent.cpu_s})
    sizes: dict[Stratum, int] = defaultdict(int)
    for plan in plans:
        sizes[stratum(plan)] += 1
    cpu, cpu_error = total(costs, sizes, "cpu_s")
    wall, wall_error = total(costs, sizes, "wall_s")
    means = "; ".join(
        f"{third}, cross {cross}: {Spread.of([c.cpu_s for c in some]).text(1)} s"
        for (third, cross), some in costs.items()
    )
    return Row(
        f"the study's {len(plans)} runs, core-hours of CPU",
        "to be said",
        f"{cpu:.2f} ± {cpu_error:.2f} (s.e., n={runs} runs)",
        None,
        f"one core, wall {wall:.2f} ± {wall_error:.2f} h (testbed: {TESTBED_HOURS:.0f} h); "
        f"CPU per run: {means}",
        {
            "runs": rows,
            "cpu_hours": cpu,
            "cpu_hours_se": cpu_error,
            "wall_hours": wall,
            "wall_hours_se": wall_error,
        },
    )
