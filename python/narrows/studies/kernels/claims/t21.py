"""T21: a kernel update changes BBR's outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from narrows.judging.verdict import Claim, Number, Verdict, graded, median_of, not_measured
from narrows.judging.words import counted
from narrows.runs.observed import Observed
from narrows.store.whose import Whose

COUNT = "conditions in which a figure of BBR moved"
UNITS = ("goodput", "wait in the queue, p95", "share of packets that were dropped")
CLAIM = Claim(
    "T21",
    "a kernel update changes BBR's outcomes (Linux 4.15 against 5.15)",
    "section 4.5.3, Fig. 4.9b",
    "t21_kernels.py",
    decided_by={"quantity": (COUNT, *(f"{name}: moved by" for name in UNITS))},
)
KERNELS = ("6.1", "6.12", "7.2")
"""Those that can be had; the thesis's are older."""
MATTERS = 0.05
"""Of the larger: intervals that are apart by less than this are apart, and nobody would notice."""
EXPERIMENT = CLAIM.name


def goodput_mbps(run: Observed) -> float | None:
    """What the first flow's receiver got."""
    bps = run.figure("bulk_goodput_bps", whose=run.whose("mine"))
    return None if bps is None else bps / 1e6


def waited_ms(run: Observed) -> float | None:
    """95th percentile of what all packets waited in the queue."""
    return run.figure("sojourn_p95_ms", whose=Whose(hop="bottleneck"))


def dropped(run: Observed) -> float | None:
    """Part of all packets that the queue dropped."""
    lost, arrived = (
        run.figure(name, whose=Whose(hop="bottleneck")) for name in ("tap_dropped", "tap_arrived")
    )
    return None if lost is None or not arrived else lost / arrived


FIGURES = {
    "goodput": ("Mbit/s", goodput_mbps, 0.1),
    "wait in the queue, p95": ("ms", waited_ms, 1.0),
    "share of packets that were dropped": ("1", dropped, 0.001),
}
"""By name: unit, how it is read, and a difference below which nobody would notice, however few there were."""


def conditions(runs: Iterable[Observed]) -> Mapping[tuple[str, str], Mapping[str, list[Observed]]]:
    """Good runs of the experiment by load and queue, then by kernel; each once."""
    found: dict[tuple[str, str], dict[str, dict[str, Observed]]] = {}
    for run in runs:
        if run.ok and run.experiment == EXPERIMENT:
            of = found.setdefault((run.key["load"], run.key["queue"]), {})
            of.setdefault(run.key["kernel"], {})[run.run_id] = run
    return {key: {k: [one[i] for i in sorted(one)] for k, one in of.items()} for key, of in found.items()}


def medians(runs: Iterable[Observed]) -> Iterator[tuple[str, str, str, Mapping[str, Number]]]:
    """Load, queue and figure, with the median of each kernel."""
    for (load, queue), of in sorted(conditions(runs).items()):
        for figure, (unit, measure, _) in FIGURES.items():
            found = {}
            for kernel in KERNELS:
                values = np.array([v for run in of.get(kernel, ()) if (v := measure(run)) is not None])
                number = median_of(figure, unit, values, {"load": load, "queue": queue, "kernel": kernel})
                if number is not None:
                    found[kernel] = number
            if found:
                yield load, queue, figure, found


def apart(one: Number, other: Number) -> bool | None:
    """Whether the intervals of two medians do not touch, by so much that it matters; None where one has no
    interval, as of fewer than six runs."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return None
    gap = max(one.low - other.high, other.low - one.high)
    least = max(MATTERS * max(abs(one.value), abs(other.value)), FIGURES[one.name][2])
    return gap > 0 and abs(one.value - other.value) > least


def judge(runs: Iterable[Observed]) -> Verdict:
    """Whether any of BBR's figures moved between two of the kernels, in each of its conditions."""
    chosen = list(runs)
    moved: dict[str, bool] = {}
    numbers: list[Number] = []
    for load, queue, figure, found in medians(chosen):
        pairs = [(a, b) for i, a in enumerate(KERNELS) for b in KERNELS[i + 1 :] if a in found and b in found]
        if not load.startswith("bbr") or not pairs:
            continue
        place = f"{load} behind {queue}"
        first, last = max(pairs, key=lambda pair: abs(found[pair[0]].value - found[pair[1]].value))
        decided = [is_apart for a, b in pairs if (is_apart := apart(found[a], found[b])) is not None]
        if decided:
            moved[place] = moved.get(place, False) or any(decided)
        numbers += [
            *found.values(),
            _moved(
                figure,
                found[first],
                found[last],
                {"load": load, "queue": queue, "between": f"{first} and {last}"},
            ),
        ]
    if not moved:
        return not_measured(CLAIM, "no condition with six runs on each of two kernels")
    reason = (
        f"a figure of BBR moved between two of Linux {', '.join(KERNELS)} in {counted(moved)} of its "
        f"conditions: intervals apart, and medians by more than {100 * MATTERS:.0f} %; they are not the "
        "thesis's kernels"
    )
    of = [
        run
        for (load, _), found in conditions(chosen).items()
        if load.startswith("bbr")
        for runs_of_one in found.values()
        for run in runs_of_one
    ]
    count = Number(COUNT, "1", sum(moved.values()), len(moved))
    words = "20 Mbit/s, 40 ms, 14.5 s; medians of six runs a kernel"
    return Verdict(
        CLAIM,
        graded(list(moved.values())),
        reason,
        (count, *numbers),
        words,
        tuple(sorted({run.run_id for run in of})),
    )


def _moved(figure: str, one: Number, other: Number, conditions: Mapping[str, str]) -> Number:
    largest = max(abs(one.value), abs(other.value))
    part = abs(one.value - other.value) / largest if largest else 0.0
    return Number(f"{figure}: moved by", "1", part, min(one.n, other.n), conditions)
