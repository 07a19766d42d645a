"""The truth about a path of ours: what the plan set and the tap saw, to stand beside what a capture shows."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from narrows.plan.model import Plan
from narrows.runs.capacity import capacity_bps, possible_goodput_bps, rate_steps, shaper, shares_air
from narrows.store import parquet

WINDOW_NS = 100_000_000
ONE_PACKET_BYTES = 2_000
"""A bucket of less lets no burst pass."""


@dataclass(frozen=True)
class Truth:
    """What is known of the path of one run. None: the run did not record it.

    `peak_sojourn_ns` is the 99th percentile of the time that packets of the direction waited in the
    bottleneck's queue, `peak_sojourn_back_ns` the same of the other direction, where the ACKs wait: a round
    trip holds both. `rate_bps` is the bottleneck's rate at the start, on the IP layer, and `drops` what it
    dropped.
    """

    run_id: str
    capture: str
    base_rtt_ns: int | None
    rate_bps: int | None
    peak_sojourn_ns: int | None
    peak_sojourn_back_ns: int | None
    drops: int | None
    capacity_bps: float | None = None
    capacity_variation: float | None = None
    burst_bytes: int | None = None
    policed: int | None = None


def of_capture(log: Path, sender: str, duration_ns: int | None = None) -> Truth | None:
    """The truth about the path from the address `sender` to a connection that lasted from the run's epoch for
    `duration_ns`; None when `log` is no capture of a run."""
    run = log.resolve().parent.parent
    plan_file = run / "plan.json"
    if log.resolve().parent.name != "raw" or not plan_file.is_file():
        return None
    plan = Plan.read(plan_file)
    client = plan.calibration.client_address if plan.calibration else None
    direction = "up" if sender == client else "down"
    captures = {each.id: f"{each.node}:{each.iface}" for each in plan.captures}
    peak, drops = _queue(run / "queue.parquet", direction)
    truth = Truth(
        run_id=run.name,
        capture=captures.get(log.name.split(".")[0], log.name),
        base_rtt_ns=plan.link.base_rtt_ns,
        rate_bps=plan.link.rate_up_bps if direction == "up" else plan.link.rate_down_bps,
        peak_sojourn_ns=peak,
        peak_sojourn_back_ns=_queue(run / "queue.parquet", "down" if direction == "up" else "up")[0],
        drops=drops,
    )
    return truth if not duration_ns else _with_rates(truth, plan, direction, duration_ns)


def _with_rates(truth: Truth, plan: Plan, direction: str, duration_ns: int) -> Truth:
    """With what the shaper let pass."""
    way = plan.link.down if direction == "down" else plan.link.up
    depth = shaper(plan, direction).burst_bytes
    return replace(
        truth,
        capacity_bps=possible_goodput_bps(plan, direction, (0, duration_ns)),
        capacity_variation=_variation(plan, direction, duration_ns),
        burst_bytes=depth if depth is not None and depth > ONE_PACKET_BYTES else None,
        policed=int(way.shaper == "policer"),
    )


def _variation(plan: Plan, direction: str, duration_ns: int) -> float | None:
    steps = rate_steps(plan, direction)
    windows = range(0, duration_ns - WINDOW_NS + 1, WINDOW_NS)
    if not steps or not windows or shares_air(plan):
        return None
    rates = pl.Series([capacity_bps(plan, direction, (at, at + WINDOW_NS)) for at in windows])
    low, middle, high = (float(rates.quantile(share) or 0.0) for share in (0.1, 0.5, 0.9))
    return (high - low) / middle if middle else None


def _queue(file: Path, direction: str) -> tuple[int | None, int | None]:
    if not file.is_file():
        return None, None
    events = (
        parquet.scan(file)
        .filter((pl.col("direction").cast(pl.String) == direction) & (pl.col("t_ns") >= 0))
        .select(pl.col("event").cast(pl.String), "sojourn_ns")
        .collect()
    )
    waits = events.filter(pl.col("event") == "depart")["sojourn_ns"].drop_nulls()
    if events.is_empty() or waits.is_empty():
        return None, None
    peak = waits.quantile(0.99, interpolation="higher")
    return (int(peak) if peak is not None else None), events.filter(pl.col("event") == "drop").height
