"""What reading ten million drops costs, of few and of many flows: it must not hang on how many there are."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import BenchError, Spread, cost_of
from rows import Bench, Row
from scale import Case

from narrows.plan.model import Plan
from narrows.store import queue_table, tap, tap_tables

DROPS = 10_000_000
FEW, MANY = 100, 5000
MAX_RATIO = 1.5
SECONDS = 100.0


def made_up_tap(flows: int, hop: int) -> tap.Tap:
    """Drops of all flows, evenly mixed over the run."""
    random_ = np.random.default_rng(1)
    packets = np.zeros(DROPS, dtype=tap.PACKET_DTYPE)
    packets["type"], packets["hop"], packets["bytes"] = tap.PACKET, hop, 1514
    packets["flow"] = 1 + random_.integers(0, flows, DROPS)
    packets["arrival_ns"] = np.sort(random_.integers(0, int(SECONDS * 1e9), DROPS))
    packets["backlog_bytes"] = packets["backlog_bytes_after"] = 375_000_000
    packets["outcome"] = tap.DROPPED
    known = tuple(
        tap.Flow(hop, number, "tcp", "10.0.2.1", 10_000 + number, "10.0.0.1", 5201)
        for number in range(1, flows + 1)
    )
    return tap.Tap(known, packets, np.empty(0, dtype=tap.INTERVAL_DTYPE))


def reading(bench: Bench) -> list[Row]:
    """Both in turns; the tables are written as after a run."""
    cost: dict[int, list[float]] = {FEW: [], MANY: []}
    plan = Case(MANY, "bbr", 10, SECONDS).plan()
    (hop,) = (number for number, one in enumerate(plan.hops) if one.tap == "drops")
    made = {flows: made_up_tap(flows, hop) for flows in cost}
    with tempfile.TemporaryDirectory(prefix="narrows-bench-") as folder:
        for i in range(bench.repeats):
            for flows, data in made.items():
                bench.say(f"reading the drops of {flows} flows, {i + 1} of {bench.repeats}")
                spent = cost_of(lambda d=data: _tables(plan, d, Path(folder)))  # type: ignore[misc]
                cost[flows].append(spent.wall_s)
    few, many = (Spread.of(cost[flows]) for flows in (FEW, MANY))
    ratio = many.median / few.median
    return [
        Row(
            f"reading 10 million drops, {MANY} / {FEW} flows",
            f"≤ {MAX_RATIO:g} ×",
            f"{ratio:.2f} ×",
            ratio <= MAX_RATIO,
            f"wall s: {few.text()} and {many.text()}; all tables written, in this process, not pinned",
            {"wall_s": {str(flows): each for flows, each in cost.items()}},
        )
    ]


def _tables(plan: Plan, data: tap.Tap, folder: Path) -> None:
    derived = tap_tables.derive("made up", plan, data, 0, int(SECONDS * 1e9), {})
    rows = queue_table.write(folder / "queue.parquet", "made up", plan.hops, data.packets, 0)
    if derived.flows.height != len(data.flows) or rows != 2 * DROPS:  # each drop arrived before
        raise BenchError(f"{derived.flows.height} flows and {rows} rows of {len(data.flows)} and {2 * DROPS}")
