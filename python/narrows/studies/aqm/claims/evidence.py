"""What claims ask of a run: its conditions as the paper names them, and the quantities the paper draws.

A condition is read from the plan, not from the name of the experiment, so a run of the study serves any
claim. Two runs of the same physical plan (from two experiments, or made again by another version of the
agent or the kernel) count once: a repetition is another seed.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from narrows.comparing.conditions import queue_rank
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.tail import Tail
from narrows.plan.identity import canonical_json
from narrows.runs.observed import DIRECTIONS, Observed, label
from narrows.runs.same_runs import of_same_runs

SMALL_BASE_RTT_NS = 1_000_000
RESULT = "test_throughput_bps"
"""A run without it had no speed test, or none that ended."""
_NOT_PHYSICAL = ("experiment", "question", "key", "epoch_monotonic_ns")


@dataclass(frozen=True)
class Facts:
    """The conditions of one run."""

    rate_mbps: float
    queue: str
    burst: str
    cross: str
    timer: str
    base_rtt_ms: float


def facts(run: Observed) -> Facts:
    """Conditions, with the words of the study's axes; an axis that is absent has its neutral value."""
    if Facts not in run.kept:
        run.kept[Facts] = _facts(run)
    kept: Facts = run.kept[Facts]
    return kept


def _facts(run: Observed) -> Facts:
    late = run.plan.machine.timer_latency
    return Facts(
        rate_mbps=run.rate_bps("down") / 1e6,
        queue=run.queue,
        burst=label(run, "burst"),
        cross=label(run, "cross"),
        timer="exact" if late is None else f"{late.min_ns / 1e3:g} to {late.max_ns / 1e3:g} µs late",
        base_rtt_ms=run.link.base_rtt_ns / 1e6,
    )


PAPER_QUEUES = ("pfifo", "codel", "fq_codel", "sfq")
"""What R1 to R11 are about; other qdiscs are claim R12's."""


@of_same_runs
def usable(runs: Iterable[Observed]) -> list[Observed]:
    """Good runs of the paper's qdiscs on our kernel with a rate and a speed test, each physical plan once."""
    by_plan: dict[str, Observed] = {}
    for run in sorted(runs, key=lambda r: r.run_id):
        if run.queue not in PAPER_QUEUES or run.kernel_config:
            continue
        if (
            run.ok
            and run.link.rate_down_bps
            and any(run.quantity(RESULT, way) is not None for way in DIRECTIONS)
        ):
            by_plan.setdefault(_physical(run), run)
    return list(by_plan.values())


def _physical(run: Observed) -> str:
    plan = {name: value for name, value in run.plan.to_dict().items() if name not in _NOT_PHYSICAL}
    return hashlib.sha256(canonical_json(plan).encode()).hexdigest()


def where(
    runs: Iterable[Observed],
    *,
    rate_mbps: float | None = None,
    burst: Sequence[str] | None = None,
    cross: Sequence[str] | None = None,
    exact_timers: bool | None = True,
    small_rtt: bool = True,
) -> list[Observed]:
    """Runs under conditions; None does not ask."""
    fitting = []
    for run in runs:
        f = facts(run)
        if rate_mbps is not None and f.rate_mbps != rate_mbps:
            continue
        if burst is not None and f.burst not in burst:
            continue
        if cross is not None and f.cross not in cross:
            continue
        if exact_timers is not None and exact_timers != (f.timer == "exact"):
            continue
        if small_rtt and run.link.base_rtt_ns > SMALL_BASE_RTT_NS:
            continue
        fitting.append(run)
    return fitting


def by(runs: Iterable[Observed], *names: str) -> dict[tuple[str | float, ...], list[Observed]]:
    """Runs by some of their facts, in a steady order (qdiscs in theirs)."""
    groups: dict[tuple[str | float, ...], list[Observed]] = defaultdict(list)
    for run in runs:
        groups[tuple(getattr(facts(run), name) for name in names)].append(run)

    def order(key: tuple[str | float, ...]) -> list[tuple[float, tuple[int, str]]]:
        return [
            (v, (0, "")) if isinstance(v, float) else (0.0, queue_rank(v) if n == "queue" else (0, v))
            for n, v in zip(names, key, strict=True)
        ]

    return {key: groups[key] for key in sorted(groups, key=order)}


def _of_each(runs: Iterable[Observed], name: str, direction: str) -> Floats:
    """A number of each run that has it."""
    maybe = (run.quantity(name, direction) for run in runs)
    return np.array([value for value in maybe if value is not None], dtype=np.float64)


def rates_mbps(runs: Iterable[Observed], direction: str) -> Floats:
    """The tool's result of each run."""
    return _of_each(runs, RESULT, direction) / 1e6


def utilisations(runs: Iterable[Observed], direction: str) -> Floats:
    """The tool's result over the largest payload rate that the shaper allows."""
    values = [
        rate / largest_goodput_bps(r.rate_bps(direction), r.link.mtu_bytes)
        for r in runs
        if (rate := r.quantity(RESULT, direction)) is not None
    ]
    return np.array(values, dtype=np.float64)


def median_rtts_ms(runs: Iterable[Observed], direction: str) -> Floats:
    """Median RTT of the test's own connection in each run."""
    return _of_each(runs, "test_rtt_p50_ms", direction)


def rtt_tails_ms(runs: Iterable[Observed], direction: str) -> Floats:
    """p99 minus median of the test's RTT in each run."""
    several = list(runs)
    return _of_each(several, "test_rtt_p99_ms", direction) - _of_each(several, "test_rtt_p50_ms", direction)


def glitch_rates(runs: Iterable[Observed], direction: str, lost_counts: bool = True) -> Floats:
    """Glitches per minute of the probe in each run."""
    name = "probe_glitches_per_minute" if lost_counts else "probe_spikes_per_minute"
    return _of_each(runs, name, direction)


def probe_losses(runs: Iterable[Observed], direction: str) -> Floats:
    """Share of probes lost while the test ran in that direction, in each run."""
    return _of_each(runs, "probe_loss_ratio", direction)


def variations(runs: Iterable[Observed], direction: str) -> Floats:
    """Coefficient of variation of the test's own 10 ms bins in each run, after it has settled."""
    return _of_each(runs, "test_variation", direction)


def tails(runs: Iterable[Observed], name: str, *ofs: str) -> list[Tail]:
    """What is kept of a distribution, of each run that has it."""
    maybe = (run.quantities.tail(name, of) for run in runs for of in ofs)
    return [tail for tail in maybe if tail is not None]
