"""What the claims measure: of each home what tests score, how services fare, and what one says of the other.

A score is oriented so that more is better, and an outcome so that less is better; correlations are given so
that 1 is a score that ranks homes exactly as a service fares in them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import methodcaller

import numpy as np
import numpy.typing as npt

from narrows.judging.parts import Item, Judge, Measure, Number, Numbers, all_of, good
from narrows.metrics.latency import bufferbloat_grade, iqb, qoo
from narrows.metrics.latency.aim import aim_scores
from narrows.metrics.statistics.arrays import Floats
from narrows.metrics.statistics.bootstrap import Rows, interval_of_rows
from narrows.metrics.statistics.rank_correlation import above, rho
from narrows.metrics.statistics.tail import pooled_quantile
from narrows.runs.observed import Observed
from narrows.spec.axis import SEED
from narrows.studies.outcomes.testbed import BURSTS, LEVEL_UNITS, LEVELS, halves

SERVICES, TESTS, BREAKS = "o1_services", "o2_tests", "o3_breaks"
FARED, ENOUGH = "how it fares", "enough"
Known = Mapping[str, float | None]
Bools = npt.NDArray[np.bool_]
MARKS: Mapping[str, tuple[str, float, float]] = {
    "video": ("time without a picture", 2_000, 10_000),
    "page": ("time until 95 % is painted", 2_500, 6_000),
    "call": ("camera to screen, p95", 400, 1_000),
    "game": ("late or lost", 0.01, 0.05),
    "download": ("time for 10 MB", 4_000, 20_000),
}
"""Of each service the outcome by which it is judged, and up to where people call it good and usable: 2 s
until a film begins and no stall of note, 10 s in all; a page as web.dev's largest contentful paint is called
good (2.5 s); 400 ms from mouth to ear (ITU-T G.114), 1 s; one and five datagrams in a hundred; 10 MB at 20
and 4 Mbit/s."""
UNITS = {"video": "ms", "page": "ms", "call": "ms", "game": "1", "download": "ms"}
SCORES = (
    "capacity",
    "idle latency",
    "working latency",
    "loss",
    "RPM",
    "bufferbloat grade",
    "QoO",
    "IQB",
    "AIM",
)
LEAST_HOMES = 5
"""With fewer homes that are good, or that are not, nothing is said of telling them apart."""
MADE = {"0": "at first", "1": "again"}
"""Repetitions that are compared with each other."""
LESS_IS_BETTER = ("idle latency", "working latency", "loss")


def outcome(run: Observed) -> float | None:
    """How its service fared; None: not measured."""
    service = run.key["service"]
    own = run.whose("service")

    def said(name: str, way: str | None = "down") -> float | None:
        return run.figure(name, way, own)

    if service == "video":
        start, stalled = said("video_start_ms", None), said("video_stalled_ms", None)
        return None if start is None or stalled is None else start + stalled
    if service == "page":
        return said("page_visual_ms", None)
    if service == "call":
        return said("call_frame_delay_p95_ms")
    if service == "download":
        rate = said("bulk_goodput_bps")
        return 8e10 / rate if rate else None
    return run.quantity("probe_late_ratio", "service")


def scores(ndt7: Observed) -> Known:
    """What tests score of a home but for RPM: NDT7 with a probe of 50 datagrams a second beside it."""
    test, both = ndt7.whose("test"), ("down", "up")
    rates = [ndt7.figure("ndt7_throughput_bps", way, test) for way in both]
    added = [ndt7.quantity("probe_working_latency_ms", way) for way in both]
    lost = [ndt7.quantity("probe_loss_ratio", way) for way in both]
    tails = [ndt7.quantities.tail("probe_rtt_ms", way) for way in both]
    idle = ndt7.quantities.tail("probe_rtt_ms", "idle")
    if idle is None or None in (*rates, *added, *lost, *tails):
        return {}
    before = np.repeat(idle.values, idle.counts.astype(np.int64))
    rest_ms, loss = float(np.median(before)), float(np.mean(np.array(lost, dtype=np.float64)))
    loaded = [tail for tail in tails if tail is not None]
    high = {p: pooled_quantile(loaded, p / 100) for p in qoo.EXAMPLE.latency_ms}
    more = [rest_ms + each for each in added if each is not None]
    down_bps, up_bps = (float(each) for each in rates if each is not None)
    aim = aim_scores(rest_ms, more[0], more[1], ndt7.quantity("probe_jitter_ms", "idle"), down_bps, loss)
    step = bufferbloat_grade.grade([rest_ms], [more[0]], [more[1]])
    known = {p: value for p, value in high.items() if value is not None}
    points = [score.points for score in aim.values() if score is not None]
    return {
        "capacity": down_bps,
        "idle latency": rest_ms,
        "working latency": max(more) - rest_ms,
        "loss": loss,
        "bufferbloat grade": None if step is None else float(step),
        "QoO": qoo.qoo_of(known, loss, min(down_bps, up_bps), qoo.EXAMPLE),
        "IQB": iqb.iqb(down_bps, up_bps, rest_ms, loss)["all"],
        "AIM": float(sum(points)) if len(points) == len(aim) else None,
    }


def homes(runs: Sequence[Observed]) -> Iterator[Item]:
    """A home for each condition and repetition that has been measured: scores and outcomes by name, and those
    of the first two repetitions by a name of their own."""
    found: dict[tuple[str, str], dict[str, Observed]] = {}
    for name, axis in ((SERVICES, "service"), (TESTS, "test")):
        for run in good(runs, name):
            found.setdefault((run.key["home"], run.key.get(SEED, "0")), {})[run.key[axis]] = run
    for (home, seed), made in sorted(found.items()):
        known = dict(scores(made["ndt7"])) if "ndt7" in made else {}
        if (test := made.get("rpm")) is not None:
            known["RPM"] = test.figure("rpm", "down", test.whose("test"))
        fared = {service: outcome(made[service]) for service in MARKS if service in made}
        again = {f"{service} {MADE[seed]}": value for service, value in fared.items() if seed in MADE}
        order = {ORDER: float(BURSTS[of])} if (of := home.partition("-")[0]) in BURSTS else {}
        ids = tuple(sorted(run.run_id for run in made.values()))
        yield Item(known | fared | again | order, {"home": home}, ids)


ORDER = "packets lost in a row"
"""What tells homes apart that were built to lose the same share; drawn homes have none."""
NAMES = (ORDER, *SCORES, *MARKS, *(f"{service} {time}" for service in MARKS for time in MADE.values()))
MEASURES = tuple(Measure(name, UNITS.get(name.split()[0], "1"), methodcaller("get", name)) for name in NAMES)


def pairs(numbers: Numbers, *names: str) -> list[Floats]:
    """The values of the homes that have all of these, a column each; scores so that more is better. Of homes
    that were built only where their order is asked for."""
    by: dict[str, dict[str, float]] = {}
    for number in numbers:
        sign = -1.0 if number.name in LESS_IS_BETTER else 1.0
        by.setdefault(number.conditions["home"], {})[number.name] = sign * number.value
    rows = [
        [of[name] for name in names]
        for of in by.values()
        if all(name in of for name in names) and (ORDER in of) == (ORDER in names)
    ]
    return list(np.array(rows, dtype=np.float64).reshape(-1, len(names)).T)


def over_homes(
    name: str, count: int, statistic: Callable[[Rows], Floats], **conditions: str
) -> Iterator[Number]:
    """A statistic of so many homes, with its interval by bootstrap over them; nothing where there is none. It
    gets which homes were drawn, a sample a row."""
    if not count or np.isnan(value := float(statistic(np.arange(count)[None])[0])):
        return
    interval = interval_of_rows(count, statistic)
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    yield Number(name, "1", value, count, conditions, low, high)


def ranked(numbers: Numbers, names: Sequence[str] = SCORES) -> Iterator[Number]:
    """How each score ranks homes as each service fares in them."""
    for score in names:
        for service in MARKS:
            one, other = pairs(numbers, score, service)

            def ranks_alike(rows: Rows, one: Floats = one, other: Floats = other) -> Floats:
                return rho(one[rows], -other[rows])

            yield from over_homes("rank correlation", one.size, ranks_alike, score=score, service=service)


def again(numbers: Numbers) -> Iterator[Number]:
    """How a service ranks homes in one repetition as in another: no score can be nearer to it than it is to
    itself. Where a run comes out the same each time there is nothing to show."""
    for service in MARKS:
        one, other = pairs(numbers, *(f"{service} {time}" for time in MADE.values()))

        def ranks_alike(rows: Rows, one: Floats = one, other: Floats = other) -> Floats:
            return rho(one[rows], other[rows])

        if not np.array_equal(one, other):
            yield from over_homes("rank correlation with itself", one.size, ranks_alike, service=service)


def told(numbers: Numbers, names: Sequence[str] = SCORES) -> Iterator[Number]:
    """How well each score tells homes in which a service is good, or usable, from the others."""
    for score in names:
        for service, (_, *limits) in MARKS.items():
            one, other = pairs(numbers, score, service)
            for word, limit in zip(("good", "usable"), limits, strict=True):
                well = other <= limit

                def apart(rows: Rows, one: Floats = one, well: Bools = well) -> Floats:
                    return above(one[rows], well[rows])

                if min(well.sum(), well.size - well.sum()) >= LEAST_HOMES:
                    yield from over_homes("area", one.size, apart, score=score, service=service, mark=word)


Outcomes = partial(
    Judge,
    experiment="o1_services.py",
    besides=("o2_tests",),
    by=("home",),
    items=homes,
    measures=MEASURES,
    hidden=tuple(measure.name for measure in MEASURES),
    under="homes drawn from published quantiles; intervals by bootstrap over homes",
)


def fitted(numbers: Numbers, score: str) -> Iterator[Number]:
    """The threshold of a score that tells one half of the homes best, on the other half, by service."""
    for service, (_, good_to, _) in MARKS.items():
        first, second = (pairs(of, score, service) for of in _halves(numbers))
        if not first[0].size or not second[0].size:
            continue
        right = (second[0] >= _best(first[0], first[1] <= good_to)) == (second[1] <= good_to)

        def share(rows: Rows, right: Bools = right) -> Floats:
            found: Floats = np.mean(right[rows], axis=-1, dtype=np.float64)
            return found

        yield from over_homes("told rightly", right.size, share, score=score, service=service)


def added(numbers: Numbers, by: str) -> Iterator[Number]:
    """How many more homes of one half are told rightly by capacity and another number than by capacity alone,
    with thresholds that tell the other half best: good is what is above both."""
    for service, (_, limit, _) in MARKS.items():
        first, second = (pairs(of, "capacity", by, service) for of in _halves(numbers))
        if not first[0].size or not second[0].size:
            continue
        good_one = first[2] <= limit
        alone = _best(first[0], good_one)
        both = max(
            ((a, b) for a in np.unique(first[0]) for b in np.unique(first[1])),
            key=lambda ab: np.mean(((first[0] >= ab[0]) & (first[1] >= ab[1])) == good_one),
        )

        rate, other, fared = second
        told_by_both = (rate >= both[0]) & (other >= both[1])
        well = fared <= limit
        gained = (told_by_both == well).astype(np.float64) - ((rate >= alone) == well)

        def more(rows: Rows, gained: Floats = gained) -> Floats:
            found: Floats = np.mean(gained[rows], axis=-1)
            return found

        yield from over_homes("added", gained.size, more, by=by, service=service)


USE_OF = {"video": "video", "page": "web", "call": "conferencing", "game": "gaming", "download": "backup"}


def asked(service: str, of: str) -> Mapping[str, float]:
    """What scores ask of a path for a service: the threshold of each, in the unit of the path's levels."""
    place = ("rate", "", "rtt", "loss").index(of)
    scale = (1e6, 1.0, 1.0, 0.01)[place]
    example = (qoo.EXAMPLE.throughput_bps, 0.0, qoo.EXAMPLE.latency_ms[99.0][1], qoo.EXAMPLE.loss[1])[place]
    return {"IQB": iqb.USES[USE_OF[service]][place][1] / scale, "QoO": example / scale}


def levels(runs: Sequence[Observed]) -> Iterator[Item]:
    """How each service fares on a path of which one thing is changed, by its level."""
    for run in good(runs, BREAKS):
        of, _, level = run.key["path"].rpartition("-")
        yield Item(outcome(run), {"service": run.key["service"], "of": of, "level": level}, (run.run_id,))


def breaks(numbers: Numbers) -> Iterator[Number]:
    """Where a service ceases to be good, and usable, which lies between two levels: the last at which it is,
    from the best one on, and the next; and what scores ask for over where it ceases to be good. Nothing where
    it is so at every level or at none."""
    for service, (_, *limits) in MARKS.items():
        for of in LEVELS:
            for mark, limit in zip(("good", "usable"), limits, strict=True):
                by = {
                    float(number.conditions["level"]): number.value <= limit
                    for number in all_of(numbers, FARED, service=service, of=of)
                }
                tried = sorted(by, reverse=of == "rate")
                bad = next((place for place, level in enumerate(tried) if not by[level]), 0)
                if not bad:
                    continue
                low, high = sorted((tried[bad - 1], tried[bad]))
                middle, under = math.sqrt(low * high), {"service": service, "of": of}
                yield Number(ENOUGH, LEVEL_UNITS[of], middle, len(tried), {**under, "mark": mark}, low, high)
                for score, at in asked(service, of).items() if mark == "good" else ():
                    yield Number(
                        "threshold over break", "1", at / middle, len(tried),
                        {**under, "score": score}, at / high, at / low,
                    )  # fmt: skip


NEAR = {"QoO": 5.0, "IQB": 0.05, "AIM": 5.0, "bufferbloat grade": 0.5}
"""Scores that differ by so little are equal."""


def opposite(numbers: Numbers) -> Iterator[Number]:
    """Of pairs of homes with an equal score the share in which a service is good in one and unusable in the
    other; and of pairs that were built to differ in nothing but the order of their losses."""
    for score, near in NEAR.items():
        for service, (_, good_to, usable_to) in MARKS.items():
            drawn, built = pairs(numbers, score, service), pairs(numbers, score, service, ORDER)
            each = [*drawn, np.arange(drawn[0].size, dtype=np.float64)]
            for name, (one, other, order) in (("opposite", each), ("opposite by order", built)):
                equal = np.abs(one[:, None] - one[None, :]) <= near
                alike = equal & (order[:, None] != order[None, :])
                split = alike & ((other <= good_to)[:, None] & (other > usable_to)[None, :])

                def share(rows: Rows, alike: Bools = alike, split: Bools = split | split.T) -> Floats:
                    times = np.array([np.bincount(row, minlength=len(alike)) for row in rows], np.float64)
                    found, every = (((times @ which) * times).sum(-1) for which in (split, alike))
                    return np.where(every > 0, found / np.maximum(every, 1), np.nan)

                yield from over_homes(name, one.size, share, score=score, service=service)


def _halves(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Homes that set a threshold, and those that judge it."""
    first, _ = halves()
    chosen = [number for number in numbers if number.conditions["home"] in first]
    return chosen, [number for number in numbers if number.conditions["home"] not in first]


def _best(one: Floats, well: np.ndarray) -> float:
    """The threshold from which on a number tells most homes rightly; of several the middle one."""
    tried = np.unique(one)
    right = np.array([np.mean((one >= at) == well) for at in tried])
    best = tried[right == right.max()]
    return float(best[best.size // 2])
