"""T5: BBR flows are unfair to each other. Contested, so every factor that was varied is reported."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from narrows.judging.parts import Item, Mark, Number, Numbers, Share, all_of, fits, one, plain_of
from narrows.metrics.statistics.settled import TOLERANCE
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import Case, thesis_cases
from narrows.studies.corescale.claims.measures import CORE, EDGE, JAIN, Flows, by_drain, conditions, of_flows

MAX_JAIN_AT_CORE = 0.5  # "as low as 0.4"
MAX_JAIN_AT_EDGE = 0.75  # "as low as 0.7", beyond 10 flows
EDGE_FLOWS = 10
OUR_KERNEL = "HZ=1000"
THESIS = {"case": "the thesis'"}
LOWEST = "lowest index"
STILL = Share(
    "still moved at the end", read=of_flows("jain_settled", "moved"), where=THESIS, take=plain_of("max")
)
FACTORS: dict[str, Callable[[Case], str]] = {
    "base RTT": lambda case: case.rtt,
    "flows": lambda case: str(case.flows),
    "start": lambda case: case.start,
    "buffer": lambda case: f"× {case.buffer:g}" if case.buffer is not None else case.queue,
    "offloads": lambda case: case.offloads,
    "timers": lambda case: case.timers,
    "kernel": lambda case: case.kernel or OUR_KERNEL,
}


def of_thesis(case: Case, is_plain: bool) -> Mapping[str, str]:
    """The label of a condition that decides: the thesis' own, at Edge of more than ten flows."""
    return THESIS if is_plain and (case.scale != "edge" or case.flows > EDGE_FLOWS) else {}


def lowest(found: Numbers) -> Iterator[Number]:
    """The lowest index at Core and at Edge, and how far it still moved where it had not settled."""
    for scale in (CORE, EDGE):
        if own := all_of(found, JAIN.name, **scale, **THESIS):
            least = min(own, key=lambda each: each.value)
            still = one(found, STILL.name, **least.conditions)
            restless = still is not None and still.value >= TOLERANCE
            more = {"still moved by": still.said} if still is not None and restless else {}
            yield replace(least, name=LOWEST, conditions={**least.conditions, **more})


def effects(chosen: Mapping[Case, Sequence[Observed]]) -> list[tuple[str, str, float, int]]:
    """For each level of each factor: the median difference of the index to the same condition at the factor's
    other levels, and the number of such pairs. Only conditions that differ in nothing else are compared."""
    index = {
        case: float(np.median(found))
        for case, same in chosen.items()
        if (found := [value for run in same if (value := JAIN.read(run)) is not None])
    }
    made = []
    for factor, level_of in FACTORS.items():
        groups: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for case, value in index.items():
            others = (of(case) for name, of in FACTORS.items() if name != factor)
            rest = (case.scale, case.variant, case.besides, *others)
            groups[rest][level_of(case)] = value
        differences: dict[str, list[float]] = defaultdict(list)
        for levels in groups.values():
            for level, value in levels.items():
                differences[level] += [value - other for name, other in levels.items() if name != level]
        made += [
            (factor, level, float(np.median(d)), len(d)) for level, d in sorted(differences.items()) if d
        ]
    return made


def cause(items: Sequence[Item], _: Numbers) -> str:
    """What the index hangs on, and what it was where the queue stayed full."""
    drain = by_drain([item.of for item in items if fits(item.key, THESIS)], JAIN)
    by_factor: dict[str, list[str]] = defaultdict(list)
    for factor, level, difference, pairs in effects(thesis_cases(item.of for item in items)):
        by_factor[factor].append(f"{level} {difference:+.3f} ({pairs})")
    if not by_factor:
        return (
            f"Only one level of each factor was measured, so what it hangs on is not known. {drain}".strip()
        )
    untold = (
        "" if "kernel" in by_factor else f" HZ was not varied: it is part of the kernel ({OUR_KERNEL} here)."
    )
    told = "; ".join(f"{factor}: {', '.join(levels)}" for factor, levels in by_factor.items())
    return (
        "What it hangs on: median difference of Jain's index to the same condition at the factor's other "
        f"levels (number of comparisons): {told}.{untold} {drain}"
    ).strip()


judge = Flows(
    "T5",
    "BBR against itself: Jain's index down to 0.4 at Core, 0.7 beyond 10 flows at Edge",
    "Figure 3.4",
    "t05_bbr_against_itself.py",
    items=conditions(lambda case: case.ccas == ("bbr",), of_thesis),
    measures=(JAIN, STILL),
    derive=lowest,
    hidden=(STILL.name,),
    marks=(
        Mark(f"lowest at Core at most {MAX_JAIN_AT_CORE:g}", LOWEST, most=MAX_JAIN_AT_CORE, where=CORE),
        Mark(f"lowest at Edge at most {MAX_JAIN_AT_EDGE:g}", LOWEST, most=MAX_JAIN_AT_EDGE, where=EDGE),
    ),
    fails_below=True,
    needed=("core",),
    counted=THESIS,
    cause=cause,
    decided_by={"quantity": JAIN.name, **THESIS},
)
