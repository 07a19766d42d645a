"""What R12 and C1 to C5 ask of a run: its place in its experiment's sweep, and what its speed test read.

These claims are about one experiment each; runs are chosen by the labels of its axes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from narrows.metrics.rate.utilisation import largest_goodput_bps
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import NO_LABEL, Observed
from narrows.runs.quantities import under
from narrows.runs.queue_numbers import LOADED_AFTER_S

SETTLING_S = LOADED_AFTER_S
HOP = "bottleneck"
READINGS = ("capacity_test_throughput_bps", "ndt7_throughput_bps", "iperf3_goodput_bps")
"""What each tool itself gives as its result; all are TCP payload."""


def runs_of(runs: Iterable[Observed], experiment: str) -> list[Observed]:
    """Good runs of an experiment file, each once, in a steady order."""
    stem = experiment.removesuffix(".py")
    found = {run.run_id: run for run in runs if run.ok and run.experiment == stem and not run.kernel_config}
    return [found[run_id] for run_id in sorted(found)]


def by_key(runs: Iterable[Observed], *axes: str) -> dict[tuple[str, ...], list[Observed]]:
    """Runs by their labels on some axes, sorted by them."""
    found: dict[tuple[str, ...], list[Observed]] = defaultdict(list)
    for run in runs:
        found[tuple(run.key.get(axis, NO_LABEL) for axis in axes)].append(run)
    return {key: found[key] for key in sorted(found, key=_order)}


def _order(key: tuple[str, ...]) -> list[tuple[float, str]]:
    """Numbers by their value."""
    return [(float(label) if label.isdigit() else -1.0, label) for label in key]


def values(runs: Iterable[Observed], quantity: Callable[[Observed], float | None]) -> Floats:
    """A quantity of each run that has it."""
    return known(quantity(run) for run in runs)


def known(found: Iterable[float | None]) -> Floats:
    """The values that there are."""
    return np.array([value for value in found if value is not None], dtype=np.float64)


def reading_bps(run: Observed, direction: str = "down", item: str = "test") -> float | None:
    """What the speed test gives as its result."""
    found = [run.figure(item, name, direction) for name in READINGS]
    return next((value for value in found if value is not None), None)


def filled(run: Observed, direction: str = "down") -> float | None:
    """The reading over the largest TCP payload rate that the shaper allows."""
    reading = reading_bps(run, direction)
    possible = largest_goodput_bps(run.rate_bps(direction), run.link.mtu_bytes)
    return None if reading is None else reading / possible


def advertised_share(run: Observed, direction: str = "down") -> float | None:
    """The reading over the shaper's rate, as an operator compares it with what was sold."""
    reading = reading_bps(run, direction)
    return None if reading is None else reading / run.rate_bps(direction)


def retransmitted(run: Observed, direction: str = "down", item: str = "test") -> float | None:
    """Share of what the test sent that it sent again, by the tool; iperf3's packets over those that reached
    the bottleneck."""
    for name in ("capacity_test_retransmission_ratio", "ndt7_retransmission_ratio"):
        value = run.figure(item, name, direction)
        if value is not None:
            return value
    again = run.figure(item, "iperf3_retransmits", direction)
    sent = run.figure(f"{HOP}/{item}", "tap_arrived", direction)
    return None if again is None or not sent else again / sent


def loaded_rtt_ms(run: Observed, probe: str, load: str, percent: int = 50) -> float | None:
    """Quantile of a probe's round-trip time while an item loads the path, its first `SETTLING_S` left out."""
    return run.quantity(f"loaded_rtt_p{percent}_ms", under(probe, load))


def sojourn_ms(run: Observed, item: str, percent: int = 50, direction: str = "down") -> float | None:
    """Quantile of an item's own packets' sojourn time at the bottleneck."""
    return run.figure(f"{HOP}/{item}" if item else HOP, f"sojourn_p{percent}_ms", direction)
