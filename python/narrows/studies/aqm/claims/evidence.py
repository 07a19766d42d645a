"""What claims ask of a run: its conditions as the paper names them, and the quantities the paper draws.

A condition is read from the plan, not from the name of the experiment, so a run of the study serves any
claim. Two runs of the same physical plan (from two experiments, or made again by another version of the
agent or the kernel) count once: a repetition is another seed.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from narrows.figures.style import queue_rank
from narrows.metrics.latency.glitches import Glitches, glitches
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.stability import coefficient_of_variation
from narrows.runs.observed import Observed, label

SMALL_BASE_RTT_NS = 1_000_000
SETTLING_NS = 1_000_000_000
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
    late = run.plan["machine"]["timer_latency"]
    return Facts(
        rate_mbps=run.rate_bps("down") / 1e6,
        queue=run.queue,
        burst=label(run, "burst"),
        cross=label(run, "cross"),
        timer="exact" if late is None else f"{late['min_ns'] / 1e3:g} to {late['max_ns'] / 1e3:g} µs late",
        base_rtt_ms=run.link["base_rtt_ns"] / 1e6,
    )


PAPER_QUEUES = ("pfifo", "codel", "fq_codel", "sfq")
"""What R1 to R11 are about; other qdiscs are claim R12's."""


def usable(runs: Iterable[Observed]) -> list[Observed]:
    """Good runs of the paper's qdiscs on our kernel with a rate and a speed test, each physical plan once."""
    found: dict[str, Observed] = {}
    for run in sorted(runs, key=lambda r: r.run_id):
        if run.queue not in PAPER_QUEUES or run.kernel_config:
            continue
        if run.ok and run.link.get("rate_down_bps") and run.tests:
            found.setdefault(_physical(run), run)
    return list(found.values())


def _physical(run: Observed) -> str:
    plan = {name: value for name, value in run.plan.items() if name not in _NOT_PHYSICAL}
    seed = label(run, "seed") if "seed" not in plan else ""
    text = json.dumps([plan, seed], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


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
    found = []
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
        if small_rtt and run.link["base_rtt_ns"] > SMALL_BASE_RTT_NS:
            continue
        found.append(run)
    return found


def by(runs: Iterable[Observed], *names: str) -> dict[tuple[str | float, ...], list[Observed]]:
    """Runs by some of their facts, in a steady order (qdiscs in theirs)."""
    found: dict[tuple[str | float, ...], list[Observed]] = defaultdict(list)
    for run in runs:
        found[tuple(getattr(facts(run), name) for name in names)].append(run)

    def order(key: tuple[str | float, ...]) -> list[tuple[float, tuple[int, str]]]:
        return [
            (v, (0, "")) if isinstance(v, float) else (0.0, queue_rank(v) if n == "queue" else (0, v))
            for n, v in zip(names, key, strict=True)
        ]

    return {key: found[key] for key in sorted(found, key=order)}


def rates_mbps(runs: Iterable[Observed], direction: str) -> Floats:
    """The tool's result of each run."""
    values = [t.rate_mbps for r in runs if (t := r.tests.get(direction)) is not None]
    return np.array([v for v in values if v is not None], dtype=np.float64)


def utilisations(runs: Iterable[Observed], direction: str) -> Floats:
    """The tool's result over the largest payload rate that the shaper allows."""
    values = [
        t.rate_bps / largest_goodput_bps(r.rate_bps(direction), int(r.link["mtu_bytes"]))
        for r in runs
        if (t := r.tests.get(direction)) is not None and t.rate_bps is not None
    ]
    return np.array(values, dtype=np.float64)


def test_rtt_ms(run: Observed, direction: str) -> Floats:
    """RTT samples of the test's own connection."""
    test = run.tests.get(direction)
    if test is None:
        return np.empty(0)
    present: Floats = test.rtt_ms.value[~np.isnan(test.rtt_ms.value)]
    return present


def median_rtts_ms(runs: Iterable[Observed], direction: str) -> Floats:
    """Median RTT of the test in each run."""
    return np.array([np.median(x) for r in runs if (x := test_rtt_ms(r, direction)).size], dtype=np.float64)


def rtt_tails_ms(runs: Iterable[Observed], direction: str) -> Floats:
    """p99 minus median of the test's RTT in each run."""
    tails = [np.quantile(x, 0.99) - np.median(x) for r in runs if (x := test_rtt_ms(r, direction)).size]
    return np.array(tails, dtype=np.float64)


def glitch_rates(runs: Iterable[Observed], direction: str, lost_counts: bool = True) -> Floats:
    """Glitches per minute of the probe in each run."""
    found = [_glitches(run, direction, lost_counts) for run in runs]
    return np.array([g.per_minute for g in found if g is not None and g.per_minute is not None], dtype=float)


def probe_losses(runs: Iterable[Observed], direction: str) -> Floats:
    """Share of probes lost while the test ran in that direction, in each run."""
    found = [_glitches(run, direction, True) for run in runs]
    return np.array([g.lost / g.probes for g in found if g is not None and g.probes], dtype=float)


def _glitches(run: Observed, direction: str, lost_counts: bool) -> Glitches | None:
    probe, test = run.probe(), run.tests.get(direction)
    if probe is None or test is None or test.window is None:
        return None
    return glitches(probe.rtt_ms.within(test.window).value, probe.interval_ms, lost_counts=lost_counts)


def variations(runs: Iterable[Observed], direction: str) -> Floats:
    """Coefficient of variation of the test's own 10 ms bins in each run, after it has settled."""
    found = []
    for run in runs:
        series = run.test_throughput_bps(direction)
        if series.t_ns.size:
            settled = series.value[series.t_ns >= series.t_ns[0] + SETTLING_NS]
            found.append(coefficient_of_variation(settled))
    return np.array([v for v in found if v is not None], dtype=np.float64)
