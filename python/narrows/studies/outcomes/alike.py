"""What the study saw in homes whose speed test said much the same, for whoever has only the reading."""

from collections.abc import Iterable, Iterator, Mapping

from narrows.data import at
from narrows.runs.find import runs_below
from narrows.studies.outcomes.claims.measures import MARKS, ORDER, Known, homes

FACTOR = 2.0
"""Rates and latencies that differ by less are alike."""
LEAST_MS = 10.0
"""Working latencies below this are alike."""
LEAST = 5
"""Of fewer homes nothing is said."""


def kept() -> list[Known]:
    """Scores and outcomes of every home that was drawn and is kept."""
    return [item.of for item in homes(runs_below([at("evidence/outcomes")])) if ORDER not in item.of]


def alike(
    known: Iterable[Known], capacity_bps: float, working_ms: float
) -> Mapping[str, tuple[int, int, int]]:
    """Of the homes whose test said much the same, by service: in how many it was good, in how many usable,
    and how many there are."""
    found: dict[str, tuple[int, int, int]] = {}
    for home in known:
        rate, wait = home.get("capacity"), home.get("working latency")
        if rate is None or wait is None or not _near(rate, capacity_bps):
            continue
        if not _near(max(wait, LEAST_MS), max(working_ms, LEAST_MS)):
            continue
        for service, (_, good, usable) in MARKS.items():
            if (fared := home.get(service)) is not None:
                so_far = found.get(service, (0, 0, 0))
                found[service] = (so_far[0] + (fared <= good), so_far[1] + (fared <= usable), so_far[2] + 1)
    return {service: counts for service, counts in found.items() if counts[2] >= LEAST}


def sentences(known: Iterable[Known], capacity_bps: float, working_ms: float) -> Iterator[str]:
    """The same in one sentence; none where too few homes are alike."""
    said = [
        f"{service} {good} of {n} (usable {usable})"
        for service, (good, usable, n) in alike(known, capacity_bps, working_ms).items()
    ]
    if said:
        yield (
            f"In homes of the study of scores with a download within a factor of {FACTOR:g} of "
            f"{capacity_bps / 1e6:.3g} Mbit/s, and a working latency within that of {working_ms:.3g} ms, "
            f"these were good: {', '.join(said)}."
        )


def _near(one: float, other: float) -> bool:
    return max(one, other) <= FACTOR * min(one, other)
