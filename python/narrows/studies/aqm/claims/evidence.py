"""What claims ask of a run: its conditions as the paper names them, and the quantities the paper draws.

A condition is read from the plan, not from the name of the experiment, so a run of the study serves any
claim. Two runs of the same physical plan (from two experiments, or made again by another version of the
agent or the kernel) count once: a repetition is another seed.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from narrows.judging.parts import Item, Judge, Measure, Number, Read, Share, Statistic, Where
from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.metrics.statistics.tail import Tail, pooled_quantile
from narrows.plan.identity import canonical_json
from narrows.runs.observed import DIRECTIONS, Observed, label
from narrows.runs.same_runs import of_same_runs

SMALL_BASE_RTT_NS = 1_000_000
LAN = "LAN"
RESULT = "test_throughput_bps"
"""A run without it had no speed test, or none that ended."""
_NOT_PHYSICAL = ("experiment", "question", "key", "epoch_monotonic_ns")


def labels(run: Observed) -> Mapping[str, str]:
    """The conditions of a run in the words of the study's axes; an axis that is absent has its neutral value.
    `path` tells the paper's small LAN from longer ones."""
    if (kept := (__name__, "labels")) not in run.kept:
        late = run.plan.machine.timer_latency
        run.kept[kept] = {
            "rate": f"{run.rate_bps('down') / 1e6:g}Mbit",
            "queue": run.queue,
            "burst": label(run, "burst"),
            "cross": label(run, "cross"),
            "timers": "exact" if late is None else f"{late.min_ns / 1e3:g} to {late.max_ns / 1e3:g} µs late",
            "base_rtt": f"{run.link.base_rtt_ns / 1e6:g}ms",
            "path": LAN if run.link.base_rtt_ns <= SMALL_BASE_RTT_NS else "longer",
        }
    found: Mapping[str, str] = run.kept[kept]
    return found


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


@dataclass(frozen=True)
class Way:
    """A direction of a run."""

    run: Observed
    direction: str

    def value(self, name: str) -> float | None:
        return self.run.quantity(name, self.direction)

    def tail(self, name: str) -> Tail | None:
        return self.run.quantities.tail(name, self.direction)


def ways(runs: Iterable[Observed], of: Sequence[str] = DIRECTIONS, **more: str) -> list[Item]:
    """Each direction of each run of the paper's; with these labels in place of its own."""
    return [
        Item(Way(run, way), {**labels(run), "direction": way, **more}, (run.run_id,))
        for run in usable(runs)
        for way in of
    ]


def value(name: str, per: float = 1.0) -> Read:
    """A quantity of a direction, in so many of its unit."""

    def read(way: Way) -> float | None:
        found = way.value(name)
        return None if found is None else found / per

    return read


def utilisation(way: Way) -> float | None:
    """The tool's result over the largest payload rate that the shaper allows."""
    rate = way.value(RESULT)
    possible = largest_goodput_bps(way.run.rate_bps(way.direction), way.run.link.mtu_bytes)
    return None if rate is None else rate / possible


def rtt_tail_ms(way: Way) -> float | None:
    """p99 less median of the RTT of the test's own connection."""
    high, middle = way.value("test_rtt_p99_ms"), way.value("test_rtt_p50_ms")
    return None if high is None or middle is None else high - middle


def pooled(quantile: float) -> Statistic:
    """A quantile of distributions together; n counts what they hold."""

    def made(
        name: str, unit: str, tails: Any, conditions: Mapping[str, str], percent: bool = False
    ) -> Number | None:
        found = pooled_quantile(tails, quantile)
        if found is None:
            return None
        return Number(name, unit, found, int(sum(tail.total for tail in tails)), conditions)

    return made


RATE = Measure("throughput", "Mbit/s", value(RESULT, 1e6))
USE = Share("utilisation", read=utilisation)
RTT = Measure("RTT of the test", "ms", value("test_rtt_p50_ms"))
TAIL = Measure("p99 - median of the test's RTT", "ms", rtt_tail_ms)
VARIATION = Share("variation of throughput, 10 ms bins", read=value("test_variation"))
"""It is of the test's own bins at the bottleneck, after it has settled."""
IN_LAN: Where = {"path": LAN, "timers": "exact"}
SHAPED = ("text", "listing")
Paper = partial(Judge, items=ways)
