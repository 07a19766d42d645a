"""The quantities that a person asks of a link first: throughput, latency under load, responsiveness; of many
flows how much of the link they took, and how fairly. What the items got is `narrows.comparing.outcome`.

Each is one number of a run and a direction, None where it was not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from narrows.runs import loaded
from narrows.runs.observed import DIRECTIONS, Observed
from narrows.tools import reading, registry
from narrows.tools.reading import Figure, Reading

UTILISATION, FAIRNESS = "utilisation", "fairness among flows"
WHOLE = ""
"""The direction of a number that is of no direction."""


@dataclass(frozen=True)
class Quantity:
    """A quantity, and how it is read of a run and a direction ("down", "up" or `WHOLE`)."""

    name: str
    unit: str
    more_is_better: bool
    source: str
    """What the number is, for a note."""
    of: Callable[[Observed, str], float | None]


def quantities(runs: Sequence[Observed], are_items: bool) -> list[Quantity]:
    """Those of any run, in order, then those of many flows. Latency is the probe's where a run has one, else
    that of the test's own packets: the two are never mixed. Where several items shared a link (`are_items`),
    the throughput of one of them is no answer, unless it is a speed test."""
    throughput = Quantity("throughput", "Mbit/s", True, "throughput as the test itself reported it", _mbps)
    is_tested = any(run.tested for run in runs) or not are_items
    probed = any(_probe_ms(run, way) is not None for run in runs for way in DIRECTIONS)
    return [
        *([throughput] if is_tested else []),
        Quantity(
            "latency under load",
            "ms",
            False,
            "a run's latency is the median round trip of the probe while that direction was loaded"
            if probed
            else "a run's latency is the median RTT of the test's own connection",
            _probe_ms if probed else _own_ms,
        ),
        Quantity("RPM", "1/min", True, "RPM (round trips per minute) as the test itself reported it", _rpm),
        Quantity(UTILISATION, "%", True, "utilisation is the flows' goodput over the link's", _used),
        Quantity(
            FAIRNESS, "1", True, "fairness is Jain's index of the flows' goodputs after the warm-up", _fair
        ),
    ]


def _mbps(run: Observed, direction: str) -> float | None:
    rate = loaded.goodput_bps(run, direction)
    return None if rate is None else rate / 1e6


def _probe_ms(run: Observed, direction: str) -> float | None:
    rtt = loaded.probe_rtts_ms(run, direction) if direction in DIRECTIONS else np.empty(0)
    return float(np.median(rtt)) if rtt.size else None


def _own_ms(run: Observed, direction: str) -> float | None:
    return run.quantity("test_rtt_p50_ms", direction)


def _used(run: Observed, direction: str) -> float | None:
    many = run.many if direction == WHOLE else None
    return None if many is None or many.utilisation is None else 100 * many.utilisation


def _fair(run: Observed, direction: str) -> float | None:
    many = run.many if direction == WHOLE else None
    return None if many is None else many.jain


def _rpm(run: Observed, direction: str) -> float | None:
    found = sorted(
        (source, value)
        for (source, way, name), value in run.figures.items()
        if name in _rpm_names() and (way or WHOLE) == direction
    )
    return found[0][1] if found else None


@cache
def _rpm_names() -> frozenset[str]:
    """The first figure of each tool that reads responsiveness: its own headline."""
    firsts = (
        next((name for name, of in each.FIGURES.items() if _is_rpm(of)), None)
        for each in registry.parts(registry.READINGS)
    )
    return frozenset(name for name in firsts if name is not None)


def _is_rpm(of: Reading | Figure) -> bool:
    return isinstance(of, Reading) and of.quantity == reading.RPM
