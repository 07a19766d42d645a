import itertools
from collections.abc import Iterator
from dataclasses import replace

from narrows.comparing.conditions import Rank, rank
from narrows.judging.parts import Condition, Mark, Measure, Number, Numbers, all_of, one, percent, plain_of
from narrows.studies.aqm.claims.evidence import IN_LAN, RATE, VARIATION, Paper, pooled, value

SAME_MEAN = 0.05  # means of throughput within 5 % of each other
DIFFERENT_TAIL = 2  # p99 of the probe's RTT, or the variation of throughput, differs by this factor
MIN_REPETITIONS = 3
EXAMPLES = 2
MIN_PAIRS = 6  # fewer cannot show that there is no such pair
PAIRS, DIFFERING = "pairs of conditions with the same mean", "pairs that differ in a tail"
MEAN = replace(RATE, name="mean throughput", take=plain_of("mean"), least_n=MIN_REPETITIONS)
RUNS = Measure("runs", "1", lambda way: 1.0, take=plain_of("sum"))
P99 = Measure("p99 of the probe's RTT", "ms", lambda way: way.tail("probe_rtt_ms"), take=pooled(0.99))
GLITCHES = Measure("glitches", "1/min", value("probe_glitches_per_minute"), take=plain_of("mean"))
STEADY = replace(VARIATION, name="variation of throughput")
TAILS = (GLITCHES, P99, STEADY)
EXAMPLE = " of an example"
Pair = tuple[float, Number, Number]


def fold(a: Number, b: Number) -> float:
    """The larger over the smaller."""
    low, high = sorted((a.value, b.value))
    return high / low if low > 0 else float("inf") if high > 0 else 1.0


def same_mean(found: Numbers) -> list[tuple[Number, Number]]:
    """Pairs of conditions of one rate and direction whose mean throughput agrees."""
    means = sorted(all_of(found, MEAN.name), key=lambda each: _order(each.conditions))
    return [
        (a, b)
        for a, b in itertools.combinations(means, 2)
        if all(a.conditions[axis] == b.conditions[axis] for axis in ("rate", "direction"))
        and abs(a.value - b.value) <= SAME_MEAN * max(a.value, b.value)
    ]


def _order(under: Condition) -> tuple[str, str, Rank]:
    return under["burst"], under["cross"], rank("queue", under["queue"])


def _words(number: Number) -> str:
    """A steady order of pairs that differ alike."""
    under = number.conditions
    words = (under[axis] for axis in ("rate", "queue", "burst", "cross", "direction"))
    return ", ".join(words).replace("Mbit", " Mbit/s", 1)


def compared(found: Numbers) -> Iterator[Number]:
    """How many pairs there are, how many of them differ, and of each tail the two that differ most."""
    pairs = same_mean(found)
    differing: dict[str, list[Pair]] = {}
    for a, b in pairs:
        for tail in TAILS:
            one_, other = (one(found, tail.name, **each.conditions) for each in (a, b))
            if one_ is not None and other is not None and fold(one_, other) >= DIFFERENT_TAIL:
                differing.setdefault(tail.name, []).append((fold(one_, other), one_, other))
    if not pairs or (len(pairs) < MIN_PAIRS and not differing):
        return
    counts = "; ".join(f"{name}: {len(some)}" for name, some in sorted(differing.items()))
    runs = int(sum(each.value for each in all_of(found, RUNS.name, direction="down")))
    yield Number(PAIRS, "pairs", len(pairs), runs, {"timers": "exact"})
    differ = float(sum(map(len, differing.values())))
    yield Number(DIFFERING, "1", differ, len(pairs), {"by": counts} if counts else {})
    for _, some in sorted(differing.items()):
        for _, a, b in sorted(some, key=lambda pair: (-pair[0], _words(pair[1])))[:EXAMPLES]:
            for number in (a, b):
                mean, count = (one(found, of.name, **number.conditions) for of in (MEAN, RUNS))
                if mean is not None and count is not None:
                    for each in (mean, number):
                        yield replace(
                            each, name=f"{each.name}{EXAMPLE}", n=int(count.value), low=None, high=None
                        )


def examples(found: Numbers) -> Numbers:
    """Under the names of what they are of."""
    return [replace(each, name=each.name.removesuffix(EXAMPLE)) for each in found]


judge = Paper(
    "R11",
    "Averages hide it: two conditions with similar means differ in tails, spikes and glitches",
    "sections 1, 4.2 and 5",
    "r11_averages_hide_tails.py",
    by=("rate", "queue", "burst", "cross", "direction"),
    where=IN_LAN,
    measures=(MEAN, RUNS, *TAILS),
    derive=compared,
    hidden=(MEAN.name, RUNS.name, DIFFERING, *(tail.name for tail in TAILS)),
    shows=examples,
    marks=(Mark(f"{DIFFERENT_TAIL}-fold, with means within {percent(SAME_MEAN)}", DIFFERING, 1),),
    rests="shown",
    under="pairs of one rate and direction",
    decided_by={"quantity": (PAIRS, *(tail.name for tail in TAILS))},
)
