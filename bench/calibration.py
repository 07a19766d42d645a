"""What the metrics cost on ten million samples, and a whole calibration from a sample of its runs.

The calibration is the built-in scenario `aqm`: 8 AQMs × 3 rates × every tool × 5 seeds. One run of each tool
at each rate is made (the AQM drawn with a fixed seed); a cell's cost counts for all its AQMs and seeds. The
core-hours of the guests and of reading their results, over the machine's cores, are its wall time; scoring
is counted with the metrics.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from measure import Cost, Spread, cost_of
from plans import scored
from rows import Bench, Row
from study import one

from narrows.calibrate.scenario import BUILT_IN, plan_scenario, written
from narrows.engine import host
from narrows.plan.model import Plan
from narrows.scoring.any_latency import Delays, latency_values
from narrows.scoring.any_throughput import throughput_values
from narrows.scoring.score import score
from narrows.scoring.scores import SERIES

SAMPLES = 10_000_000
METRICS_S = 5.0
CALIBRATION_HOURS = 2.0
SCENARIO = "aqm"
PROBE_INTERVAL_NS = 100_000


def made_up_run() -> Callable[[], object]:
    """The scorer on ten million departures: a test of eight flows, its ACKs, cross traffic, a probe."""
    random_ = np.random.default_rng(1)
    kind = random_.choice(4, SAMPLES, p=[0.6, 0.3, 0.08, 0.02])
    flow = np.where(kind == 0, 10 + random_.integers(0, 8, SAMPLES), kind)
    t_ns = 2_000_000_000 + np.sort(random_.integers(0, 100_000_000_000, SAMPLES))
    queue = pl.DataFrame(
        {
            "hop": pl.Series(["bottleneck"]).new_from_index(0, SAMPLES).cast(pl.Categorical),
            "direction": pl.Series(np.where(kind == 1, "up", "down")).cast(pl.Categorical),
            "t_ns": t_ns,
            "flow": pl.Series(flow).cast(pl.UInt32),
            "bytes": pl.Series(np.array([1514, 66, 1514, 106])[kind]).cast(pl.UInt32),
            "sojourn_ns": (20e6 + 10e6 * np.sin(t_ns / 3e9) + random_.uniform(0, 1e6, SAMPLES)).astype(
                np.int64
            ),
        }
    )
    items = {1: "test", 2: "cross", 3: "probe"} | {10 + n: "test" for n in range(8)}
    flows = pl.DataFrame(
        [
            {"hop": "bottleneck", "direction": way, "flow": n, "label": "", "item": item, "protocol": "tcp"}
            for n, item in items.items()
            for way in ("down", "up")
        ],
        schema_overrides={"flow": pl.UInt32},
    )  # fmt: skip
    plan = scored()
    samples = pl.DataFrame(schema=dict.fromkeys(SERIES, pl.String) | {"t_ns": pl.Int64, "value": pl.Float64})
    return lambda: score("made up", plan, samples, queue, flows, "test").rows()


def metrics(bench: Bench) -> list[Row]:
    """Every latency metric, and every throughput metric, on a record of ten million; and the whole scorer."""
    random_ = np.random.default_rng(1)
    t_ns = np.arange(SAMPLES, dtype=np.float64) * PROBE_INTERVAL_NS
    # A queue that fills and empties, and noise of less than the distance of two probes: nothing is overtaken.
    delay_ns = 40e6 + 20e6 * np.sin(t_ns / 3e9) + random_.uniform(0, 5e4, SAMPLES)
    idle = Delays(t_ns[:1000], delay_ns[:1000])
    payload, whole = np.full(SAMPLES, 1448.0), np.full(SAMPLES, 1500.0)
    flow = random_.integers(0, 8, SAMPLES).astype(np.float64)
    window = (0, int(t_ns[-1]))
    work: dict[str, Callable[[], Any]] = {
        "latency": lambda: latency_values(Delays(t_ns, delay_ns, PROBE_INTERVAL_NS), idle),
        "throughput": lambda: throughput_values(t_ns, payload, whole, flow, window),
        "applicable (the scorer on one run)": made_up_run(),
    }
    rows = []
    for name, call in work.items():
        costs, count = [], 0
        for i in range(bench.repeats):
            bench.say(f"metrics: {name}, {i + 1} of {bench.repeats}")
            kept: list[int] = []
            own = time.process_time()
            spent = cost_of(lambda c=call, k=kept: k.append(len(c())))  # type: ignore[misc]
            costs.append(Cost(spent.wall_s, spent.cpu_s + time.process_time() - own))
            count = kept[0]
        wall, cpu = Spread.of([c.wall_s for c in costs]), Spread.of([c.cpu_s for c in costs])
        rows.append(
            Row(
                f"every {name} metric on 10 million samples, wall s",
                f"< {METRICS_S:.0f} s",
                wall.text(),
                wall.median < METRICS_S,
                f"{count} figures; CPU {cpu.text()} s; one series, in this process, not pinned",
                {"runs": [c.__dict__ for c in costs]},
            )
        )
    return rows


def cost(bench: Bench) -> Row:
    """A whole calibration, extrapolated."""
    built = BUILT_IN[SCENARIO]
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as directory:
        plans = plan_scenario(
            written(built.settings, built.question, Path(directory)), None, varied=False
        ).plans
    cells: dict[tuple[str, str], list[Plan]] = defaultdict(list)
    for plan in plans:
        cells[plan.key["tool"], plan.key["rate"]].append(plan)
    draw = random.Random(1)
    total_s, measured = 0.0, {}
    for number, ((tool, rate), same) in enumerate(sorted(cells.items()), 1):
        bench.say(f"calibration: {tool} at {rate}, {number} of {len(cells)}")
        found: Cost = one(bench, draw.choice(same))
        measured[f"{tool} {rate}"] = {"wall_s": found.wall_s, "cpu_s": found.cpu_s, "runs": len(same)}
        total_s += found.wall_s * len(same)
    cores = len(host.cpus())
    hours = total_s / 3600 / cores
    dearest = max(measured, key=lambda k: measured[k]["wall_s"] * measured[k]["runs"])
    share = measured[dearest]["wall_s"] * measured[dearest]["runs"] / total_s
    return Row(
        f"calibration, 8 AQMs × 3 rates × {len({t for t, _ in cells})} tools × 5 seeds, h on {cores} cores",
        f"< {CALIBRATION_HOURS:.0f} h",
        f"{hours:.1f} h",
        hours < CALIBRATION_HOURS,
        f"{len(plans)} runs, {total_s / 3600:.1f} core-hours, from one run of each tool at each rate; "
        f"the dearest cell is {dearest} ({100 * share:.0f} %)",
        {"cells": measured},
    )
